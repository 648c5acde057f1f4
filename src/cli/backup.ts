import type { Command } from 'commander';
import { processEnvironment } from '../config/environment.js';
import { readSetting } from '../config/settings.js';
import { writeLine } from './terminal/output.js';

/** `relayer backup`: copies a SQLite database while the service runs. */
export function registerBackup(program: Command): void {
  program
    .command('backup')
    .description('copy the SQLite database into a new file; the service may be running')
    .argument('<file>', 'the file to write')
    .addHelpText(
      'after',
      '\nReads DATABASE_URL only. The copy is complete and checked, and only its owner can read it. Keep STORAGE_ENCRYPTION_KEY and the' +
        '\nkeystores in another place: the copy does not contain them. For PostgreSQL, use pg_dump.' +
        '\n\nExample:\n  relayer backup /backups/relayer-2026-01-31.db',
    )
    .action(backup);
}

async function backup(file: string): Promise<void> {
  const { backUp } = await import('../storage/back-up.js');
  await backUp(readSetting(processEnvironment(), 'databaseUrl'), file);
  writeLine(`wrote ${file}`);
}
