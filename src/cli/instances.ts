import type { Command } from 'commander';
import { processEnvironment } from '../config/environment.js';
import { readSetting } from '../config/settings.js';
import type { RunningInstance } from '../core/ports/instances.js';
import { dangersOf } from '../core/records/durability.js';
import { CliError } from './terminal/cli-error.js';
import { writeLine, writeNote } from './terminal/output.js';

/** `relayer instances`: lists the instances on a PostgreSQL database. */
export function registerInstances(program: Command): void {
  program
    .command('instances')
    .description(
      'list the instances on a PostgreSQL database, oldest first: id, state, number of lanes, version, host, process id, since when, and when the database last heard from it, separated by tabs',
    )
    .addHelpText(
      'after',
      '\nReads DATABASE_URL only, and changes nothing. An instance that is not connected has - instead of the last time. Settings of the server with which commits can get lost are warnings on standard error.\n\nExample:\n  relayer instances',
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
  const { readPostgresOverview } = await import('../storage/postgres/postgres-instances.js');
  const overview = await readPostgresOverview(address.connectionString);
  if (overview === null || overview.instances.length === 0) return;
  for (const instance of overview.instances) writeLine(lineOf(instance));
  for (const danger of dangersOf(overview.durability, overview.instances.length)) writeNote(`warning: ${danger}`);
}

function lineOf({ id, state, lanes, version, host, pid, sinceMs, seenAtMs }: RunningInstance): string {
  const [since, seen] = [sinceMs, seenAtMs].map((ms) => (ms === null ? '-' : new Date(ms).toISOString()));
  return [id, state, lanes, version, host, pid, since, seen].join('\t');
}
