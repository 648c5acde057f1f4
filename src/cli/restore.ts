import type { Command } from 'commander';
import { processEnvironment } from '../config/environment.js';
import { readSetting } from '../config/settings.js';
import type { Transaction } from '../core/transaction/transaction.js';
import { createLogger } from '../observability/logger.js';
import { DatabaseLockedError } from '../storage/database-locked-error.js';
import { CliError } from './cli-error.js';
import { writeLine } from './output.js';

/** `relayer restore`: puts a backup in place, and ends what must not be sent again. */
export function registerRestore(program: Command): void {
  program
    .command('restore')
    .description('put a backup in place, and end what was waiting in it, which may have been sent since')
    .argument('[file]', 'a copy that relayer backup made; none: the database is already in place, restored by its own tools')
    .addHelpText(
      'after',
      '\nReads DATABASE_URL only. The service must be stopped. What was waiting unsigned fails, and is listed: look on the chain whether it' +
        '\nwas sent after the backup. Read docs/operations.md first.' +
        '\n\nExample:\n  relayer restore /backups/relayer-2026-01-31.db',
    )
    .action(restoreDatabase);
}

async function restoreDatabase(file: string | undefined): Promise<void> {
  const databaseUrl = readSetting(processEnvironment(), 'databaseUrl');
  const { restore } = await import('../storage/restore.js');
  const log = createLogger({ level: 'warn', destination: process.stderr });
  const { ended, signed } = await restore(databaseUrl, file ?? null, log).catch((error: unknown) => {
    if (error instanceof DatabaseLockedError) throw new CliError(`${error.message}; stop it first`, 2);
    throw error instanceof Error ? new CliError(error.message) : error;
  });
  writeLine(`ended ${ended.length} that waited; ${signed.length} are signed, and the chain tells what became of them`);
  for (const transaction of ended) writeLine(`ended ${shown(transaction)}`);
  for (const transaction of signed) writeLine(`signed ${shown(transaction)} nonce ${transaction.nonce ?? 'none'}`);
}

function shown({ relayerId, id }: Transaction): string {
  return `relayer ${relayerId} transaction ${id}`;
}
