import type { Command } from 'commander';
import { processEnvironment } from '../config/environment.js';
import { readSetting } from '../config/settings.js';
import type { RunningInstance } from '../storage/running-instance.js';
import { CliError } from './cli-error.js';
import { writeLine } from './output.js';

/** `relayer instances`: lists the instances on a PostgreSQL database. */
export function registerInstances(program: Command): void {
  program
    .command('instances')
    .description(
      'list the instances on a PostgreSQL database, the active one first: state, version, host, process id, since when, and when the database last heard from it, separated by tabs',
    )
    .addHelpText(
      'after',
      '\nReads DATABASE_URL only, and changes nothing. An instance of an earlier version has - instead of its version, host and process id.\n\nExample:\n  relayer instances',
    )
    .action(list);
}

async function list(): Promise<void> {
  const { addressFromUrl } = await import('../storage/database-url.js');
  const address = addressFromUrl(readSetting(processEnvironment(), 'databaseUrl'));
  if (address.dialect === 'sqlite')
    throw new CliError(
      'DATABASE_URL names a SQLite database, which only one instance can use; only PostgreSQL supports several instances',
      2,
    );
  const { listPostgresInstances } = await import('../storage/postgres/postgres-instances.js');
  for (const instance of await listPostgresInstances(address.connectionString)) writeLine(lineOf(instance));
}

function lineOf({ isActive, version, host, pid, sinceMs, seenAtMs }: RunningInstance): string {
  const times = [sinceMs, seenAtMs].map((ms) => new Date(ms).toISOString());
  return [isActive ? 'active' : 'standby', version ?? '-', host ?? '-', pid ?? '-', ...times].join('\t');
}
