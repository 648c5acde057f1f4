import type { Command } from 'commander';
import { processEnvironment } from '../config/environment.js';
import { readSetting } from '../config/settings.js';
import type { ApiKeyDeps } from '../core/access/api-keys.js';
import type { ApiKey } from '../core/records/api-key.js';
import { everyScope, type Scope } from '../core/records/principal.js';
import { instantFromRfc3339 } from '../core/text/rfc3339.js';
import { createLogger } from '../observability/logger.js';
import type { ApiKeyStore } from '../storage/open-api-keys.js';
import { checkDatabaseExists } from './check-database-exists.js';
import { CliError } from './terminal/cli-error.js';
import { deliverLine, writeLine, writeNote } from './terminal/output.js';

interface CreateOptions {
  readonly name: string;
  readonly scope: readonly Scope[];
  readonly relayer?: readonly string[];
  readonly expiresAt?: string;
  readonly allowAddress?: readonly string[];
}

const databaseHelp = `
Reads DATABASE_URL only; the database must exist (relayer serve and relayer migrate create it). A running service accepts a new key or secret and rejects a revoked one within 2 seconds.`;

/** `relayer api-key create|list|rotate|delete`: manages the keys that callers use besides `API_KEY`. */
export function registerApiKey(program: Command): void {
  const apiKey = program
    .command('api-key')
    .description('manage the API keys of callers')
    .helpCommand('help [command]', 'print the help for a command')
    .addHelpText('after', '\nExamples:\n  relayer api-key create --name shop --scope transactions:write\n  relayer api-key list');
  apiKey
    .command('create')
    .description('create an API key and print it; it cannot be shown again')
    .requiredOption('--name <name>', 'a display name')
    .requiredOption('--scope <scope...>', `what the key may do: ${everyScope.join(', ')}`)
    .option('--relayer <id...>', 'the relayers that the key may use; default: all')
    .option('--expires-at <time>', 'when the key expires, in RFC 3339; default: never')
    .option('--allow-address <range...>', 'the addresses or ranges (10.0.0.0/8) from which the key may be used; default: all')
    .addHelpText('after', databaseHelp)
    .addHelpText(
      'after',
      '\nExample:\n  relayer api-key create --name shop --scope transactions:read transactions:write --relayer main --expires-at 2030-01-01T00:00:00Z',
    )
    .action(create);
  apiKey
    .command('list')
    .description(
      'list API keys (secrets are never shown), newest first: id, name, scopes, relayers, expiry, the id of the key that created it, the addresses from which it may be used, and its last use, separated by tabs',
    )
    .addHelpText('after', databaseHelp)
    .addHelpText('after', '\nExample:\n  relayer api-key list')
    .action(list);
  apiKey
    .command('rotate')
    .argument('<id>', 'the id of the key')
    .description('give an API key a new secret and print it; it cannot be shown again')
    .option(
      '--overlap-seconds <seconds>',
      'how long the former secret stays valid, at most 604800; 0: all former secrets end at once; default: 86400',
    )
    .addHelpText('after', databaseHelp)
    .addHelpText('after', '\nExample:\n  relayer api-key rotate 0193a7c2-5a4e-7c3b-8f21-3d5c9b1e7a60 --overlap-seconds 3600')
    .action(rotate);
  apiKey
    .command('delete')
    .argument('<id>', 'the id of the key')
    .description('revoke an API key')
    .option('--with-created', 'revoke the keys that it created too, directly or not')
    .addHelpText('after', databaseHelp)
    .addHelpText('after', '\nExample:\n  relayer api-key delete 0193a7c2-5a4e-7c3b-8f21-3d5c9b1e7a60')
    .action(deleteKey);
}

/** This process keeps no keys in memory; the service reads the database itself. */
const noKeys = { put() {}, remove() {} };

async function create({ name, scope, relayer = [], expiresAt, allowAddress = [] }: CreateOptions): Promise<void> {
  const unknown = scope.find((given) => !everyScope.includes(given));
  if (unknown !== undefined) throw new CliError(`unknown scope ${JSON.stringify(unknown)}; valid scopes: ${everyScope.join(', ')}`, 2);
  const expiresAtMs = expiresAt === undefined ? null : msFromRfc3339(expiresAt);
  const request = { name, scopes: scope, relayerIds: relayer, expiresAtMs, allowedAddresses: allowAddress };
  const { createApiKey, deleteApiKey } = await import('../core/access/api-keys.js');
  await withKeys(async (store) => {
    const { apiKey, text } = await createApiKey(await depsOf(store), request, null);
    try {
      await deliverLine(text);
    } catch (error) {
      await deleteApiKey({ store, keys: noKeys }, apiKey.id);
      throw new Error('no key was created, since standard output cannot be written to', { cause: error });
    }
    writeNote(`created ${apiKey.id}; the key cannot be shown again`);
  });
}

async function rotate(id: string, { overlapSeconds }: { readonly overlapSeconds?: string }): Promise<void> {
  if (overlapSeconds !== undefined && !/^[0-9]{1,6}$/.test(overlapSeconds))
    throw new CliError(`--overlap-seconds is ${JSON.stringify(overlapSeconds)}; it must be a whole number from 0 to 604800`, 2);
  const { rotateApiKey } = await import('../core/access/api-keys.js');
  await withKeys(async (store) => {
    const before = (await store.read.apiKeys()).find((one) => one.id === id);
    const wanted = { id, overlapSeconds: overlapSeconds === undefined ? undefined : Number(overlapSeconds) };
    const { apiKey, text } = await rotateApiKey(await depsOf(store), wanted, null);
    try {
      await deliverLine(text);
    } catch (error) {
      if (before !== undefined) await store.commit([store.change.setApiKeySecrets(before, apiKey.digest)]);
      throw new Error('the key was not rotated, since standard output cannot be written to', { cause: error });
    }
    const [former] = apiKey.formerSecrets;
    const end =
      former === undefined ? 'all former secrets have ended' : `the former secret ends at ${new Date(former.validUntilMs).toISOString()}`;
    writeNote(`rotated ${id}; ${end}; the key cannot be shown again`);
  });
}

async function list(): Promise<void> {
  await withKeys(async (store) => {
    for (const key of await store.read.apiKeys()) writeLine(lineOf(key));
  });
}

async function deleteKey(id: string, { withCreated = false }: { readonly withCreated?: boolean }): Promise<void> {
  const { deleteApiKey, deleteApiKeyWithCreated } = await import('../core/access/api-keys.js');
  await withKeys(async (store) => {
    const deps = { store, keys: noKeys };
    const revoked = withCreated ? await deleteApiKeyWithCreated(deps, id) : [id];
    if (!withCreated) await deleteApiKey(deps, id);
    for (const one of revoked) writeLine(`revoked ${one}`);
  });
}

async function depsOf(store: ApiKeyStore): Promise<ApiKeyDeps> {
  const { systemClock } = await import('../core/work/clock.js');
  const { systemIds } = await import('../core/records/ids.js');
  return { store, keys: noKeys, clock: systemClock, ids: systemIds };
}

/** Opens the stored keys for `work`. Reports a DomainError as the user's mistake. */
async function withKeys(work: (store: ApiKeyStore) => Promise<void>): Promise<void> {
  const { openApiKeys } = await import('../storage/open-api-keys.js');
  const { DomainError } = await import('../core/errors/errors.js');
  const log = createLogger({ level: 'warn', destination: process.stderr });
  const databaseUrl = readSetting(processEnvironment(), 'databaseUrl');
  await checkDatabaseExists(databaseUrl);
  const store = await openApiKeys(databaseUrl, { log });
  try {
    await work(store);
  } catch (error) {
    throw error instanceof DomainError ? new CliError(error.message, error.kind === 'not_found' ? 1 : 2) : error;
  } finally {
    await store.close();
  }
}

function lineOf(key: ApiKey): string {
  const { id, name, scopes, relayerIds, expiresAtMs, createdBy, allowedAddresses, lastUsedAtMs } = key;
  const allOr = (list: readonly string[]) => (list.length === 0 ? 'all' : list.join(','));
  const neverOr = (ms: number | null) => (ms === null ? 'never' : new Date(ms).toISOString());
  const fields = [id, name, scopes.join(','), allOr(relayerIds), neverOr(expiresAtMs), createdBy ?? 'command line'];
  return [...fields, allOr(allowedAddresses), neverOr(lastUsedAtMs)].join('\t');
}

function msFromRfc3339(text: string): number {
  const instant = instantFromRfc3339(text);
  if (instant === undefined)
    throw new CliError(`--expires-at is ${JSON.stringify(text)}; it must be an RFC 3339 time such as 2030-01-01T00:00:00Z`, 2);
  return instant.seconds * 1000 + Math.floor(instant.nanos / 1_000_000);
}
