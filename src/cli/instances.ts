import type { Command } from 'commander';
import { processEnvironment } from '../config/environment.js';
import { readSetting } from '../config/settings.js';
import type { RunningInstance } from '../core/ports/instances.js';
import { dangersOf } from '../core/records/durability.js';
import { CliError } from './terminal/cli-error.js';
import { writeLine, writeNote } from './terminal/output.js';

/** `relayer instances`: lists the instances on a PostgreSQL database, and undoes the drain of one. */
export function registerInstances(program: Command): void {
  const instances = program.command('instances');
  instances
    .description(
      'list the instances on a PostgreSQL database, oldest first: id, state, number of lanes, version, host, process id, since when, and when the database last heard from it, separated by tabs',
    )
    .addHelpText(
      'after',
      '\nReads DATABASE_URL only, and changes nothing. An instance that is not connected has - instead of the last time. Settings of the server with which commits can get lost are warnings on standard error.\n\nExample:\n  relayer instances',
    )
    .action(list);
  instances
    .command('undrain')
    .argument('<id>', 'the id of the instance')
    .description('undo the drain of an instance, which takes its share of the work again within seconds')
    .addHelpText(
      'after',
      '\nReads DATABASE_URL only. An instance that is not drained does not change. Prints its id and state.\n\nExample:\n  relayer instances undrain 1804289383',
    )
    .action(undrain);
}

async function undrain(id: string): Promise<void> {
  const { undrainOnPostgres } = await import('../storage/postgres/postgres-instances.js');
  const state = await undrainOnPostgres(await postgresAddress(), id);
  if (state === null) throw new CliError(`no instance has the id ${JSON.stringify(id)}; relayer instances lists them`);
  writeLine([id, state].join('\t'));
}

/** Returns the connection string of DATABASE_URL. */
async function postgresAddress(): Promise<string> {
  const { addressFromUrl } = await import('../storage/database-url.js');
  const address = addressFromUrl(readSetting(processEnvironment(), 'databaseUrl'));
  if (address.dialect === 'sqlite')
    throw new CliError(
      'DATABASE_URL names a SQLite database, which only one instance can use; only PostgreSQL supports several instances',
      2,
    );
  return address.connectionString;
}

async function list(): Promise<void> {
  const { readPostgresOverview } = await import('../storage/postgres/postgres-instances.js');
  const overview = await readPostgresOverview(await postgresAddress());
  if (overview === null || overview.instances.length === 0) return;
  for (const instance of overview.instances) writeLine(lineOf(instance));
  for (const danger of dangersOf(overview.durability, overview.instances.length)) writeNote(`warning: ${danger}`);
}

function lineOf({ id, state, lanes, version, host, pid, sinceMs, seenAtMs }: RunningInstance): string {
  const [since, seen] = [sinceMs, seenAtMs].map((ms) => (ms === null ? '-' : new Date(ms).toISOString()));
  return [id, state, lanes, version, host, pid, since, seen].join('\t');
}
