import { join } from 'node:path';
import type { Command } from 'commander';

const homeDir = join('data', 'sandbox');

/** `relayer dev`: the sandbox. */
export function registerDev(program: Command): void {
  program
    .command('dev')
    .description('run a sandbox: the service with local chains, a funded relayer on each and a webhook receiver')
    .addHelpText(
      'after',
      `
All that it keeps is in ${homeDir}. SANDBOX_RPC_PORT (8545) is the port of the local EVM chain, SANDBOX_BLOCK_TIME (2) the seconds between
blocks of all; with 0 they come only when told. HOST, APP_PORT, API_KEY and LOG_LEVEL work as for serve.

Example:
  SANDBOX_BLOCK_TIME=0 relayer dev`,
    )
    .action(async () => {
      const { runDev } = await import('./run-dev.js');
      await runDev(homeDir);
    });
}
