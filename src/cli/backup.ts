import type { Command } from 'commander';
import { processEnvironment } from '../config/environment.js';
import { readSetting } from '../config/settings.js';
import { CliError } from './cli-error.js';
import { writeLine } from './output.js';

/** `relayer backup`: copies a SQLite database while the service works on it. */
export function registerBackup(program: Command): void {
  program
    .command('backup')
    .description('copy the SQLite database, in use or not, into a new file')
    .argument('<file>', 'the file to write')
    .addHelpText(
      'after',
      '\nReads DATABASE_URL only. The copy is whole, checked, and readable by its owner only. Keep STORAGE_ENCRYPTION_KEY and the' +
        '\nkeystores elsewhere: without them a copy is of no use. For PostgreSQL use pg_dump.' +
        '\n\nExample:\n  relayer backup /backups/relayer-2026-01-31.db',
    )
    .action(backup);
}

async function backup(file: string): Promise<void> {
  const { backUp } = await import('../storage/back-up.js');
  try {
    backUp(readSetting(processEnvironment(), 'databaseUrl'), file);
  } catch (error) {
    throw error instanceof Error && !('problems' in error) ? new CliError(error.message) : error;
  }
  writeLine(`wrote ${file}`);
}
