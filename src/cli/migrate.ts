import type { Command } from 'commander';
import { processEnvironment } from '../config/environment.js';
import { readSetting } from '../config/settings.js';
import { createLogger } from '../observability/logger.js';
import { DatabaseLockedError } from '../storage/database-locked-error.js';
import { CliError } from './cli-error.js';
import { writeLine } from './output.js';

/** `relayer migrate`: brings the database's tables to this version. */
export function registerMigrate(program: Command): void {
  program
    .command('migrate')
    .description("bring the database's tables to this version (serve does it at its start too)")
    .addHelpText('after', '\nReads DATABASE_URL only.\n\nExample:\n  DATABASE_URL=sqlite:./data/relayer.db relayer migrate')
    .action(migrate);
}

async function migrate(): Promise<void> {
  const { migrateDatabase } = await import('../storage/open-store.js');
  const log = createLogger({ level: 'warn', destination: process.stderr });
  const applied = await migrateDatabase(readSetting(processEnvironment(), 'databaseUrl'), { log }).catch((error: unknown) => {
    throw error instanceof DatabaseLockedError ? new CliError(error.message, 2) : error;
  });
  if (applied.length === 0) writeLine('nothing to do');
  for (const name of applied) writeLine(`applied ${name}`);
}
