import type { Command } from 'commander';
import { type Environment, processEnvironment } from '../config/environment.js';
import { base64Key } from '../config/setting-parsers.js';
import { outsideText, shownName } from '../core/text/safe-text.js';
import { createLogger } from '../observability/logger.js';
import { checkDatabaseExists } from './check-database-exists.js';
import { loadConfiguration } from './load-configuration.js';
import type { ImportPlan } from './openzeppelin/plan.js';
import type { ForeignRecords, RecordKind } from './openzeppelin/records.js';
import { CliError } from './terminal/cli-error.js';
import { writeLine, writeNote } from './terminal/output.js';
import { secretFromEnvironment } from './terminal/read-secret.js';

interface ImportOptions {
  readonly redis?: string | true;
  readonly dump?: string;
  readonly keyPrefix?: string;
  readonly oldKeyEnv?: string;
  readonly dryRun?: true;
}

const help = `
Stop both services first. Reads the settings and the configuration file, as relayer serve does; the database must exist
(relayer migrate creates it). Reads Redis or the dump and never changes it. Prints one line for each record: moves,
is here, or cannot move, and why. All records that move are stored in one commit. A second run moves only the
records that are not here yet. docs/moving.md has the steps, and the command that makes a dump.

Examples:
  relayer import-openzeppelin --redis --dry-run
  relayer import-openzeppelin --redis rediss://redis.example.com:6380/0
  OLD_KEY=... relayer import-openzeppelin --dump records.jsonl --old-key-env OLD_KEY`;

/** `relayer import-openzeppelin`: moves what callers created by API in OpenZeppelin Relayer. */
export function registerImportOpenzeppelin(program: Command): void {
  program
    .command('import-openzeppelin')
    .description('move relayers, signers, notifications and API keys from the Redis of OpenZeppelin Relayer; the service must be stopped')
    .option('--redis [url]', 'read from this Redis; default: REDIS_URL, which keeps a password out of the list of processes')
    .option('--dump <file>', 'read from a dump: lines of JSON')
    .option('--key-prefix <prefix>', "OpenZeppelin Relayer's REDIS_KEY_PREFIX; default: REDIS_KEY_PREFIX, then oz-relayer")
    .option(
      '--old-key-env <name>',
      "the variable that holds OpenZeppelin Relayer's STORAGE_ENCRYPTION_KEY, if it differs from this service's",
    )
    .option('--dry-run', 'print the report, and store nothing')
    .addHelpText('after', help)
    .action(importOpenzeppelin);
}

async function importOpenzeppelin(options: ImportOptions): Promise<void> {
  const env = processEnvironment();
  const { settings, config } = await loadConfiguration(env);
  const oldKey = oldKeyFrom(options.oldKeyEnv) ?? settings.storageEncryptionKey;
  await checkDatabaseExists(settings.databaseUrl);
  const records = await recordsFrom(options, env);

  const { nodeUrlPolicyOf } = await import('../app/config-in-force.js');
  const { openDatabaseSecret } = await import('../core/access/database-secret.js');
  const { withSealedUrls } = await import('../core/notification/sealed-urls.js');
  const { systemClock: clock } = await import('../core/work/clock.js');
  const { openStore } = await import('../storage/open-store.js');
  const { createSecretBox } = await import('../storage/secret-box.js');
  const { planImport } = await import('./openzeppelin/plan.js');
  const { createHostedKeys, operatorChoices } = await import('../app/open-hosted-keys.js');
  const { noLog } = await import('../core/work/log.js');
  const secretBox = createSecretBox(settings.storageEncryptionKey);
  const opened = await openStore(settings.databaseUrl, { log: createLogger({ level: 'warn', destination: process.stderr }) });
  try {
    const store = withSealedUrls(opened.store, secretBox);
    const isNew = (await store.read.databaseSecret()) === undefined;
    if (!(isNew && options.dryRun) && (await openDatabaseSecret({ store, secretBox })) === null)
      throw new CliError('STORAGE_ENCRYPTION_KEY is not the encryption key of the database; set the key that it was last used with', 2);
    const nodeUrls = nodeUrlPolicyOf(settings, config);
    const hostedKeys = createHostedKeys(noLog, operatorChoices(config, settings));
    const parts = { store, secretBox, clock, config, env, nodeUrls, hostedKeys };
    const plan = await planImport(records, { ...parts, oldKey: Buffer.from(oldKey, 'base64') });
    if (options.dryRun !== true) await store.commit(plan.changes);
    report(plan, options.dryRun === true);
  } finally {
    await opened.store.close();
  }
}

function oldKeyFrom(name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  const parsed = base64Key(secretFromEnvironment('old key', name));
  if ('problem' in parsed) throw new CliError(`the old key ${parsed.problem}`, 2);
  return parsed.value;
}

async function recordsFrom({ redis, dump, keyPrefix }: ImportOptions, env: Environment): Promise<ForeignRecords> {
  if ((redis === undefined) === (dump === undefined)) throw new CliError('give either --redis or --dump', 2);
  const { textsFromDump, textsFromRedis } = await import('./openzeppelin/source.js');
  const { collectRecords, meaningOfKey } = await import('./openzeppelin/records.js');
  const prefix = keyPrefix ?? (env.REDIS_KEY_PREFIX || 'oz-relayer');
  if (dump !== undefined) return collectRecords(textsFromDump(dump), prefix);
  const url = redis === true ? env.REDIS_URL : redis;
  if (url === undefined || url === '') throw new CliError('--redis has no URL, and REDIS_URL is not set', 2);
  return collectRecords(
    textsFromRedis(url, `${prefix}:`, (key) => meaningOfKey(prefix, key) !== undefined),
    prefix,
  );
}

const labels: Readonly<Record<RecordKind, string>> = {
  signer: 'signer',
  notification: 'notification',
  relayer: 'relayer',
  network: 'network',
  apikey: 'API key',
  plugin: 'plugin',
};

function report({ rows, newKeys }: ImportPlan, isDryRun: boolean): void {
  for (const { kind, id, verdict } of rows) {
    const note = verdict.note === '' ? '' : `: ${outsideText(verdict.note)}`;
    writeLine(`${labels[kind]} ${outsideText(shownName(id))}: ${verdict.outcome}${note}`);
  }
  const count = (outcome: string) => rows.filter(({ verdict }) => verdict.outcome === outcome).length;
  const counts = `${count('moves')} moved, ${count('is here')} already here, ${count('cannot move')} cannot move`;
  writeLine(isDryRun ? `dry run, nothing was stored: ${counts.replace('moved', 'would move')}` : counts);
  if (isDryRun || newKeys.length === 0) return;
  writeNote('the new API keys cannot be shown again:');
  for (const { apiKey, text } of newKeys) writeLine(`${apiKey.name}\t${text}`);
}
