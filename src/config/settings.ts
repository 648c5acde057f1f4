import type { Environment } from './environment.js';
import { foreignSettings } from './foreign-settings.js';
import { ConfigError, type Problem } from './problem.js';
import { readSecretFile } from './secret-file.js';
import {
  addressRanges,
  apiKey,
  base64Key,
  databaseUrl,
  delayLimits,
  hosts,
  hoursOrOff,
  identityKeys,
  integer,
  logLevels,
  nativeAmountOrOff,
  oneOf,
  optionalApiKey,
  optionalHeader,
  optionalHttpUrl,
  optionalText,
  origins,
  type Parsed,
  portOrNone,
  secondsList,
  signerLimits,
  text,
  trueOrFalse,
} from './setting-parsers.js';

/** A setting: an environment variable. */
export interface Setting<T> {
  readonly name: string;
  /** Read if the variable is unset or empty; undefined: it must be set. */
  readonly default?: string;
  /** Its text is never shown, and can be in the file that the variable `<name>_FILE` names. */
  readonly secret?: true;
  /** One line for operators. */
  readonly doc: string;
  readonly parse: (input: string) => Parsed<T>;
}

const table = {
  host: setting({ name: 'HOST', default: '127.0.0.1', doc: 'Address to listen on.', parse: text }),
  port: setting({ name: 'APP_PORT', default: '8080', doc: 'Port to listen on; 0 selects a free port.', parse: integer(0, 65_535) }),
  metricsPort: setting({
    name: 'METRICS_PORT',
    default: '',
    doc: 'Port on HOST that serves all metrics without a key and without TLS, at /metrics and /debug/metrics/scrape, also under the names of OpenZeppelin Relayer; empty: none. /metrics on APP_PORT needs a key.',
    parse: portOrNone,
  }),
  apiKey: setting({
    name: 'API_KEY',
    secret: true,
    doc: 'Bootstrap API key, which has every scope; at least 32 characters.',
    parse: apiKey,
  }),
  apiKeyNext: setting({
    name: 'API_KEY_NEXT',
    default: '',
    secret: true,
    doc: 'Second bootstrap key, for the time in which callers move from API_KEY to it; at least 32 characters. Empty: none.',
    parse: optionalApiKey,
  }),
  configDir: setting({ name: 'CONFIG_DIR', default: './config', doc: 'Folder that contains the configuration file.', parse: text }),
  configFileName: setting({
    name: 'CONFIG_FILE_NAME',
    default: 'config.json',
    doc: 'Name of the configuration file in CONFIG_DIR.',
    parse: text,
  }),
  // Secret, since it may hold a password.
  databaseUrl: setting({
    name: 'DATABASE_URL',
    default: 'sqlite:./data/relayer.db',
    secret: true,
    doc: 'URL of the database: sqlite:<file> or postgres://...',
    parse: databaseUrl,
  }),
  requireSynchronousStandby: setting({
    name: 'REQUIRE_SYNCHRONOUS_STANDBY',
    default: 'false',
    doc: 'Only for PostgreSQL: true refuses to start, and signs nothing, while commits do not wait for a synchronous standby.',
    parse: trueOrFalse,
  }),
  storageEncryptionKey: setting({
    name: 'STORAGE_ENCRYPTION_KEY',
    secret: true,
    doc: 'Key that encrypts stored secrets: base64 of 32 bytes. To create one: openssl rand -base64 32. To rotate it: relayer rotate-encryption-key.',
    parse: base64Key,
  }),
  webhookAllowPrivate: setting({
    name: 'WEBHOOK_ALLOW_PRIVATE',
    default: 'false',
    doc: 'true allows webhooks to private and loopback addresses.',
    parse: trueOrFalse,
  }),
  webhookRetrySeconds: setting({
    name: 'WEBHOOK_RETRY_SECONDS',
    default: '5,30,120,600,3600,10800,21600,43200',
    doc: 'Seconds to wait before each retry of a webhook, separated by commas.',
    parse: secondsList,
  }),
  webhookRetentionDays: setting({
    name: 'WEBHOOK_RETENTION_DAYS',
    default: '30',
    doc: 'Days to keep delivered and dead webhook deliveries.',
    parse: integer(1, 36_500),
  }),
  rateLimitPerSecond: setting({
    name: 'RATE_LIMIT_REQUESTS_PER_SECOND',
    default: '100',
    doc: 'Requests per second that each API key can make; 0 turns the limit off.',
    parse: integer(0, 1_000_000),
  }),
  rateLimitBurst: setting({
    name: 'RATE_LIMIT_BURST_SIZE',
    default: '300',
    doc: 'Maximum number of requests that each API key can make at once; RATE_LIMIT_REQUESTS_PER_SECOND limits further requests.',
    parse: integer(1, 1_000_000),
  }),
  accessStaleAfterSeconds: setting({
    name: 'ACCESS_STALE_AFTER_SECONDS',
    default: '30',
    doc: 'Seconds without reading the API keys from the database after which only API_KEY is accepted: other keys may be revoked by then.',
    parse: integer(5, 86_400),
  }),
  shutdownDelaySeconds: setting({
    name: 'SHUTDOWN_DELAY_SECONDS',
    default: '0',
    doc: 'Seconds after SIGTERM in which calls are still accepted, while /api/v1/ready answers 503 so that load balancers send no more of them; a second SIGTERM ends it.',
    parse: integer(0, 3_600),
  }),
  connectionsPerAddress: setting({
    name: 'CONNECTIONS_PER_ADDRESS',
    default: '0',
    doc: 'Maximum number of open connections from one address (IPv6: one /64 network), except those in TRUSTED_PROXIES; 0: half of all connections, which is always the maximum.',
    parse: integer(0, 100_000),
  }),
  trustedProxies: setting({
    name: 'TRUSTED_PROXIES',
    default: '',
    doc: 'Addresses or ranges, such as 10.0.0.0/8, of the proxies whose X-Forwarded-For header names the address of the caller, separated by commas; empty: none.',
    parse: addressRanges,
  }),
  corsAllowedOrigins: setting({
    name: 'CORS_ALLOWED_ORIGINS',
    default: '',
    doc: 'Web origins from which browsers can call the API, separated by commas; empty: none.',
    parse: origins,
  }),
  tlsCertFile: setting({
    name: 'TLS_CERT_FILE',
    default: '',
    doc: 'PEM file of the certificate chain; set it together with TLS_KEY_FILE. Empty: no TLS.',
    parse: optionalText,
  }),
  tlsKeyFile: setting({ name: 'TLS_KEY_FILE', default: '', doc: 'PEM file of the private key for TLS_CERT_FILE.', parse: optionalText }),
  logLevel: setting({
    name: 'LOG_LEVEL',
    default: 'info',
    doc: `Minimum log level: ${logLevels.join(', ')}.`,
    parse: oneOf(logLevels),
  }),
  auditLogFile: setting({
    name: 'AUDIT_LOG_FILE',
    default: '',
    doc: 'File that audit lines are appended to; empty: they are in the log. LOG_LEVEL has no effect on them.',
    parse: optionalText,
  }),
  auditLogStdout: setting({
    name: 'AUDIT_LOG_STDOUT',
    default: 'false',
    doc: 'true writes audit lines to the log too, if AUDIT_LOG_FILE is set.',
    parse: trueOrFalse,
  }),
  auditFail: setting({
    name: 'AUDIT_FAIL',
    default: 'open',
    doc: 'If AUDIT_LOG_FILE cannot be written: open lets calls go on; closed refuses calls that write or sign, and gives up the work to other instances and signs no attempt, until it can.',
    parse: oneOf(['open', 'closed'] as const),
  }),
  auditRetentionDays: setting({
    name: 'AUDIT_RETENTION_DAYS',
    default: '30',
    doc: 'Days to keep the copy of audit lines that the database has and GET /api/v1/audit shows; 0 keeps none.',
    parse: integer(0, 36_500),
  }),
  heldTransactionsFile: setting({
    name: 'HELD_TRANSACTIONS_FILE',
    default: 'held-transactions.jsonl',
    doc: 'File to which the ids and hashes of the open transactions in memory are appended when PostgreSQL is found to have gone back in time, one JSON object per line; empty: none.',
    parse: optionalText,
  }),
  // Secret, since it may hold a token.
  otlpEndpoint: setting({
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    default: '',
    secret: true,
    doc: 'Base URL of the OTLP/HTTP collector that receives traces; empty: tracing is off.',
    parse: optionalHttpUrl,
  }),
  otelServiceName: setting({
    name: 'OTEL_SERVICE_NAME',
    default: 'relayer-service',
    doc: 'Name of this service in traces.',
    parse: text,
  }),
  rpcTimeoutMs: setting({
    name: 'RPC_TIMEOUT_MS',
    default: '10000',
    doc: 'Timeout of a call to an RPC node, in milliseconds.',
    parse: integer(1, 600_000),
  }),
  maxFeePerTransaction: setting({
    name: 'MAX_FEE_PER_TRANSACTION',
    default: '',
    doc: 'Maximum fee of a transaction on an EVM network if the service chooses its price, in units of the native currency; 0: no limit; empty: 1 on networks with the symbol ETH, BNB, AVAX or RBTC, no limit on others.',
    parse: nativeAmountOrOff,
  }),
  delayedAfterSeconds: setting({
    name: 'DELAYED_AFTER_SECONDS',
    default: 'fastest=60,fast=120,average=240,safeLow=600',
    doc: 'Seconds that a transaction may wait for its block before the event transaction_delayed reports it, by speed: <speed>=<seconds>, separated by commas. Absent speeds keep their defaults. Transactions with other prices, and on Stellar and Solana, count as fast. off: none is reported.',
    parse: delayLimits,
  }),
  rpcAllowedHosts: setting({
    name: 'RPC_ALLOWED_HOSTS',
    default: '',
    doc: 'Host names that are allowed in URLs of RPC nodes and signers that are set through the API, separated by commas; empty: all. URLs in the configuration are not limited.',
    parse: hosts,
  }),
  rpcBlockPrivateIps: setting({
    name: 'RPC_BLOCK_PRIVATE_IPS',
    default: 'false',
    doc: 'true rejects URLs of RPC nodes and of signers that are set through the API and lead to private, loopback or metadata addresses.',
    parse: trueOrFalse,
  }),
  azureAuthorityHost: setting({
    name: 'AZURE_AUTHORITY_HOST',
    default: '',
    doc: 'Only for signers of type azure_key_vault: URL that issues tokens; empty: the URL for the cloud of the vault.',
    parse: optionalHttpUrl,
  }),
  azureFederatedTokenFile: setting({
    name: 'AZURE_FEDERATED_TOKEN_FILE',
    default: '',
    doc: 'Only for azure_key_vault with workload_identity: file of the token, which AKS sets. It is read again for each access token.',
    parse: optionalText,
  }),
  azureImdsTokenUrl: setting({
    name: 'AZURE_IMDS_TOKEN_URL',
    default: '',
    doc: 'Only for azure_key_vault with managed_identity: URL of the metadata service; empty: the URL on Azure machines.',
    parse: optionalHttpUrl,
  }),
  azureIdentityEndpoint: setting({
    name: 'IDENTITY_ENDPOINT',
    default: '',
    doc: 'Only for azure_key_vault with managed_identity: URL that App Service and Container Apps set.',
    parse: optionalHttpUrl,
  }),
  azureIdentityHeader: setting({
    name: 'IDENTITY_HEADER',
    default: '',
    secret: true,
    doc: 'Only for azure_key_vault with managed_identity: secret that App Service and Container Apps set with IDENTITY_ENDPOINT.',
    parse: optionalHeader,
  }),
  signerLimits: setting({
    name: 'SIGNER_LIMITS',
    default: '',
    doc: 'Calls to providers of hosted keys: <type>=<calls at once>/<calls per second>, separated by commas, such as aws_kms=64/1000,turnkey=8/10; each account of a provider has the limits of its type. The rate may be absent. Types that are absent keep their defaults.',
    parse: signerLimits,
  }),
  identityKeys: setting({
    name: 'SERVICE_IDENTITY_KEYS',
    default: '',
    doc: "Keys that signers of the API may use with the service's own identity at a cloud: aws_kms=<region>/<key_id> and azure_key_vault=<vault_url>/<key_name>, separated by commas; * at the end allows each key that begins so, such as aws_kms=eu-central-1/alias/relayer-*. Signers in the configuration file may use any.",
    parse: identityKeys,
  }),
  transactionExpirationHours: setting({
    name: 'TRANSACTION_EXPIRATION_HOURS',
    default: 'off',
    doc: 'Hours to keep final transactions, with their attempts and deliveries; off keeps them forever.',
    parse: hoursOrOff,
  }),
  sandboxRpcPort: setting({
    name: 'SANDBOX_RPC_PORT',
    default: '8545',
    doc: 'Only for relayer dev: port of the local EVM chain; 0: a free one.',
    parse: integer(0, 65_535),
  }),
  sandboxBlockTimeSeconds: setting({
    name: 'SANDBOX_BLOCK_TIME',
    default: '2',
    doc: 'Only for relayer dev: seconds between blocks of the local chains; 0: blocks only on command.',
    parse: integer(0, 3_600),
  }),
} as const;

type Table = typeof table;

/** The value of every setting; names and meaning are in the table. */
export type SettingValues = { readonly [Key in keyof Table]: Table[Key] extends Setting<infer T> ? T : never };

/** The settings of the environment. */
export interface Settings extends SettingValues {
  /** Sentences about variables of OpenZeppelin Relayer that have no effect. */
  readonly notices: readonly string[];
}

/** All settings, in the order of the table. */
export const settings: readonly Setting<unknown>[] = Object.values(table);

/**
 * Reads all settings. An empty variable counts as unset.
 *
 * Throws ConfigError with every problem; paths are the names of the variables.
 */
export function loadSettings(env: Environment): Settings {
  const problems: Problem[] = [];
  const values: Record<string, unknown> = {};
  for (const [key, entry] of Object.entries<Setting<unknown>>(table)) {
    const parsed = read(entry, env);
    if ('problem' in parsed) problems.push({ path: entry.name, problem: parsed.problem });
    else values[key] = parsed.value;
  }
  if (isSet(env.TLS_CERT_FILE) !== isSet(env.TLS_KEY_FILE)) {
    const [present, missing] = isSet(env.TLS_CERT_FILE) ? ['TLS_CERT_FILE', 'TLS_KEY_FILE'] : ['TLS_KEY_FILE', 'TLS_CERT_FILE'];
    problems.push({ path: missing, problem: `must be set together with ${present}` });
  }
  if (values.auditFail === 'closed' && !isSet(env.AUDIT_LOG_FILE))
    problems.push({ path: 'AUDIT_FAIL', problem: 'must be open, or AUDIT_LOG_FILE must be set: standard output cannot confirm a line' });
  if (values.apiKeyNext === values.apiKey && values.apiKeyNext !== undefined)
    problems.push({ path: 'API_KEY_NEXT', problem: 'must be another key than API_KEY, or empty' });
  if (isSet(env.METRICS_PORT) && env.METRICS_ENABLED?.toLowerCase() === 'false')
    problems.push({ path: 'METRICS_PORT', problem: 'must be unset while METRICS_ENABLED is false: it serves all metrics without a key' });
  const foreign = foreignSettings(env);
  problems.push(...foreign.problems);
  if (problems.length > 0) throw new ConfigError(problems, foreign.notices);
  // Every key of the table was read, each with its own parser.
  return { ...(values as SettingValues), notices: foreign.notices };
}

/** Reads one setting, for commands that need only that. Throws ConfigError. */
export function readSetting<Key extends keyof SettingValues>(env: Environment, key: Key): SettingValues[Key] {
  const entry: Setting<unknown> = table[key];
  const parsed = read(entry, env);
  if ('problem' in parsed) throw new ConfigError([{ path: entry.name, problem: parsed.problem }]);
  return parsed.value as SettingValues[Key];
}

function setting<T>(entry: Setting<T>): Setting<T> {
  return entry;
}

function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== '';
}

function read(entry: Setting<unknown>, env: Environment): Parsed<unknown> {
  const fileVariable = `${entry.name}_FILE`;
  const file = entry.secret ? env[fileVariable] : undefined;
  if (isSet(file)) {
    const content = readSecretFile(file);
    const both = env[entry.name];
    if ('text' in content && isSet(both) && both !== content.text)
      return { problem: `has another value than the file that ${fileVariable} names; set only one of them` };
    return 'text' in content
      ? entry.parse(content.text)
      : { problem: `has no value: ${fileVariable} names a file that ${content.problem}` };
  }
  const given = env[entry.name];
  if (isSet(given)) {
    const parsed = entry.parse(given);
    if ('value' in parsed || entry.secret) return parsed;
    return { problem: `${parsed.problem} (value: ${JSON.stringify(given)})` };
  }
  if (entry.default === undefined) return { problem: `is required. ${entry.doc}` };
  return entry.parse(entry.default);
}
