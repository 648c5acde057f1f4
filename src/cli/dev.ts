import { join } from 'node:path';
import type { Command } from 'commander';

const homeDir = join('data', 'sandbox');

/** `relayer dev`: runs the sandbox. */
export function registerDev(program: Command): void {
  program
    .command('dev')
    .description('run a sandbox: the service with local chains, a funded relayer on each chain and a webhook receiver')
    .addHelpText(
      'after',
      `
Keeps its files in ${homeDir}. SANDBOX_RPC_PORT (8545) is the port of the local EVM chain. SANDBOX_BLOCK_TIME (2) is the number of seconds
between blocks on each chain; with 0, a chain makes a block only on command. HOST, APP_PORT, API_KEY and LOG_LEVEL work as for serve.

Example:
  SANDBOX_BLOCK_TIME=0 relayer dev`,
    )
    .action(async () => {
      const { runDev } = await import('./run-dev.js');
      await runDev(homeDir);
    });
}
