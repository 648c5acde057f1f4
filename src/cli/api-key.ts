import type { Command } from 'commander';
import { processEnvironment } from '../config/environment.js';
import { readSetting } from '../config/settings.js';
import type { ApiKey } from '../core/access/api-key.js';
import { everyScope, type Scope } from '../core/access/principal.js';
import { instantFromRfc3339 } from '../core/rfc3339.js';
import { createLogger } from '../observability/logger.js';
import type { ApiKeyStore } from '../storage/open-api-keys.js';
import { CliError } from './cli-error.js';
import { writeLine, writeNote } from './output.js';

interface CreateOptions {
  readonly name: string;
  readonly scope: readonly Scope[];
  readonly relayer?: readonly string[];
  readonly expiresAt?: string;
}

const databaseHelp = `
Reads DATABASE_URL only. The service may be running: it takes a new key, and refuses a deleted one, within two seconds.`;

/** `relayer api-key create|list|delete`: the keys that callers present, beside API_KEY of the environment. */
export function registerApiKey(program: Command): void {
  const apiKey = program
    .command('api-key')
    .description('manage the keys that callers present')
    .helpCommand('help [command]', 'print the help of a command')
    .addHelpText('after', '\nExamples:\n  relayer api-key create --name shop --scope transactions:write\n  relayer api-key list');
  apiKey
    .command('create')
    .description('make a key; it is printed this once')
    .requiredOption('--name <name>', 'its name, for people')
    .requiredOption('--scope <scope...>', `what it may do: ${everyScope.join(', ')}`)
    .option('--relayer <id...>', 'the relayers that it is for; not given: all')
    .option('--expires-at <time>', 'when it stops to work, in RFC 3339; not given: never')
    .addHelpText('after', databaseHelp)
    .addHelpText(
      'after',
      '\nExample:\n  relayer api-key create --name shop --scope transactions:read transactions:write --relayer main --expires-at 2030-01-01T00:00:00Z',
    )
    .action(create);
  apiKey
    .command('list')
    .description('print all keys without their texts, newest first: id, name, scopes, relayers, expiry; tabs in between')
    .addHelpText('after', databaseHelp)
    .addHelpText('after', '\nExample:\n  relayer api-key list')
    .action(list);
  apiKey
    .command('delete')
    .argument('<id>', 'its id')
    .description('delete a key: it opens nothing any more')
    .addHelpText('after', databaseHelp)
    .addHelpText('after', '\nExample:\n  relayer api-key delete 0193a7c2-5a4e-7c3b-8f21-3d5c9b1e7a60')
    .action(deleteKey);
}

/** Nothing is held in memory here: the service looks for itself. */
const noKeys = { add() {}, remove() {} };

async function create({ name, scope, relayer = [], expiresAt }: CreateOptions): Promise<void> {
  const unknown = scope.find((given) => !everyScope.includes(given));
  if (unknown !== undefined) throw new CliError(`there is no scope ${JSON.stringify(unknown)}: take of ${everyScope.join(', ')}`, 2);
  const wanted = { name, scopes: scope, relayerIds: relayer, expiresAtMs: expiresAt === undefined ? null : msFromTime(expiresAt) };
  const { createApiKey } = await import('../core/access/create-api-key.js');
  const { systemClock } = await import('../core/ports/clock.js');
  const { systemIds } = await import('../core/ids.js');
  await withKeys(async (store) => {
    const { apiKey, text } = await createApiKey({ store, keys: noKeys, clock: systemClock, ids: systemIds }, wanted, null);
    writeLine(text);
    writeNote(`created ${apiKey.id}; the key is not shown again`);
  });
}

async function list(): Promise<void> {
  await withKeys(async (store) => {
    for (const key of await store.read.apiKeys()) writeLine(lineOf(key));
  });
}

async function deleteKey(id: string): Promise<void> {
  const { deleteApiKey } = await import('../core/access/delete-api-key.js');
  await withKeys(async (store) => {
    await deleteApiKey({ store, keys: noKeys }, id, null);
    writeLine(`deleted ${id}`);
  });
}

/** Opens the keys for `work`. What the domain refuses is the user's mistake. */
async function withKeys(work: (store: ApiKeyStore) => Promise<void>): Promise<void> {
  const { openApiKeys } = await import('../storage/open-api-keys.js');
  const { DomainError } = await import('../core/errors.js');
  const log = createLogger({ level: 'warn', destination: process.stderr });
  const store = await openApiKeys(readSetting(processEnvironment(), 'databaseUrl'), { log });
  try {
    await work(store);
  } catch (error) {
    throw error instanceof DomainError ? new CliError(error.message, error.kind === 'not_found' ? 1 : 2) : error;
  } finally {
    await store.close();
  }
}

function lineOf({ id, name, scopes, relayerIds, expiresAtMs }: ApiKey): string {
  const expiry = expiresAtMs === null ? 'never' : new Date(expiresAtMs).toISOString();
  return [id, name, scopes.join(','), relayerIds.length === 0 ? 'all' : relayerIds.join(','), expiry].join('\t');
}

function msFromTime(text: string): number {
  const instant = instantFromRfc3339(text);
  if (instant === undefined) throw new CliError('--expires-at must be a time in RFC 3339, such as 2030-01-01T00:00:00Z', 2);
  return instant.seconds * 1000 + Math.floor(instant.nanos / 1_000_000);
}
