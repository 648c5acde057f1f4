import type { Command } from 'commander';
import { processEnvironment } from '../config/environment.js';
import { readSetting } from '../config/settings.js';
import { createLogger } from '../observability/logger.js';
import { writeLine } from './terminal/output.js';

/** `relayer migrate`: migrates the database schema to this version. */
export function registerMigrate(program: Command): void {
  program
    .command('migrate')
    .description('migrate the database schema to this version (serve does this when it starts)')
    .addHelpText('after', '\nReads DATABASE_URL only.\n\nExample:\n  DATABASE_URL=sqlite:./data/relayer.db relayer migrate')
    .action(migrate);
}

async function migrate(): Promise<void> {
  const { migrateDatabase } = await import('../storage/open-store.js');
  const log = createLogger({ level: 'warn', destination: process.stderr });
  const applied = await migrateDatabase(readSetting(processEnvironment(), 'databaseUrl'), { log });
  if (applied.length === 0) writeLine('nothing to migrate');
  for (const name of applied) writeLine(`applied ${name}`);
}
