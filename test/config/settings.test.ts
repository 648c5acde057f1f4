import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ConfigError } from '../../src/config/problem.js';
import { loadSettings, readSetting, settings } from '../../src/config/settings.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const encryptionKey = Buffer.alloc(32, 7).toString('base64');
const needed = { API_KEY: 'k'.repeat(32), STORAGE_ENCRYPTION_KEY: encryptionKey };

function problemsOf(env: Record<string, string>): Record<string, string> {
  try {
    loadSettings(env);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return Object.fromEntries(error.problems.map(({ path, problem }) => [path, problem]));
  }
  return {};
}

test('settings: have defaults', () => {
  const { trustedProxies, ...values } = loadSettings(needed);
  assert.equal(trustedProxies.includes('127.0.0.1'), false);
  assert.deepEqual(values, {
    host: '127.0.0.1',
    port: 8080,
    metricsPort: null,
    apiKey: 'k'.repeat(32),
    apiKeyNext: null,
    configDir: './config',
    configFileName: 'config.json',
    databaseUrl: 'sqlite:./data/relayer.db',
    storageEncryptionKey: encryptionKey,
    webhookAllowPrivate: false,
    webhookRetrySeconds: [5, 30, 120, 600, 3600, 10_800, 21_600, 43_200],
    webhookRetentionDays: 30,
    rateLimitPerSecond: 100,
    requireSynchronousStandby: false,
    rateLimitBurst: 300,
    accessStaleAfterSeconds: 30,
    shutdownDelaySeconds: 0,
    connectionsPerAddress: 0,
    corsAllowedOrigins: [],
    tlsCertFile: null,
    tlsKeyFile: null,
    logLevel: 'info',
    auditLogFile: null,
    heldTransactionsFile: 'held-transactions.jsonl',
    auditLogStdout: false,
    auditFail: 'open',
    auditRetentionDays: 30,
    otlpEndpoint: null,
    otelServiceName: 'relayer-service',
    rpcTimeoutMs: 10_000,
    maxFeePerTransaction: undefined,
    delayedAfterSeconds: { fastest: 60_000, fast: 120_000, average: 240_000, safeLow: 600_000 },
    rpcAllowedHosts: new Set(),
    rpcBlockPrivateIps: false,
    azureAuthorityHost: null,
    azureFederatedTokenFile: null,
    azureImdsTokenUrl: null,
    azureIdentityEndpoint: null,
    azureIdentityHeader: null,
    signerLimits: new Map(),
    identityKeys: [],
    transactionExpirationHours: null,
    sandboxRpcPort: 8545,
    sandboxBlockTimeSeconds: 2,
    notices: [],
  });
});

test('settings: read what is set', () => {
  const loaded = loadSettings({
    ...needed,
    HOST: '0.0.0.0',
    APP_PORT: '0',
    METRICS_PORT: '8081',
    DATABASE_URL: 'postgres://user:secret@db:5432/relayer',
    WEBHOOK_ALLOW_PRIVATE: 'true',
    WEBHOOK_RETRY_SECONDS: '0.5, 1,2',
    RATE_LIMIT_REQUESTS_PER_SECOND: '0',
    CORS_ALLOWED_ORIGINS: 'https://a.example.com, http://localhost:3000',
    TLS_CERT_FILE: 'cert.pem',
    TLS_KEY_FILE: 'key.pem',
    LOG_LEVEL: 'debug',
    TRANSACTION_EXPIRATION_HOURS: '0.5',
    RPC_ALLOWED_HOSTS: 'RPC.example.com, 10.0.0.1,[::1]',
    SIGNER_LIMITS: 'aws_kms=64/1500, pkcs11=8',
  });
  assert.deepEqual(loaded.rpcAllowedHosts, new Set(['rpc.example.com', '10.0.0.1', '[::1]']));
  for (const wrong of ['a:80', 'http://a', 'a/b', 'a b']) assert.ok(problemsOf({ ...needed, RPC_ALLOWED_HOSTS: wrong }).RPC_ALLOWED_HOSTS);
  assert.deepEqual(
    loaded.signerLimits,
    new Map<string, object>([
      ['aws_kms', { parallel: 64, perSecond: 1_500 }],
      ['pkcs11', { parallel: 8 }],
    ]),
  );
  assert.equal(loaded.transactionExpirationHours, 0.5);
  assert.equal(loaded.host, '0.0.0.0');
  assert.equal(loaded.port, 0);
  assert.equal(loaded.metricsPort, 8081);
  assert.equal(loaded.databaseUrl, 'postgres://user:secret@db:5432/relayer');
  assert.equal(loaded.webhookAllowPrivate, true);
  assert.deepEqual(loaded.webhookRetrySeconds, [0.5, 1, 2]);
  assert.equal(loaded.rateLimitPerSecond, 0);
  assert.deepEqual(loaded.corsAllowedOrigins, ['https://a.example.com', 'http://localhost:3000']);
  assert.equal(loaded.tlsCertFile, 'cert.pem');
  assert.equal(loaded.tlsKeyFile, 'key.pem');
  assert.equal(loaded.logLevel, 'debug');
});

test('settings: SIGNER_LIMITS refuses unknown types, repeated types and limits out of range', () => {
  for (const [input, problem] of [
    ['aws_kms', 'cannot parse "aws_kms"; expected <type>=<parallel>/<per second>, for example aws_kms=64/1000,turnkey=8/10'],
    ['aws_kms=1/2/3', 'cannot parse "aws_kms=1/2/3"; expected <type>=<parallel>/<per second>, for example aws_kms=64/1000,turnkey=8/10'],
    ['aws_kms=0', 'calls at once of aws_kms must be from 1 to 1000'],
    ['aws_kms=1/0', 'calls per second of aws_kms must be from 1 to 100000'],
    ['aws_kms=1,aws_kms=2', 'has the type "aws_kms" twice'],
  ] as const)
    assert.equal(problemsOf({ ...needed, SIGNER_LIMITS: input }).SIGNER_LIMITS, `${problem} (value: ${JSON.stringify(input)})`);
  for (const type of ['local', 'vault', 'awskms'])
    assert.match(
      problemsOf({ ...needed, SIGNER_LIMITS: `${type}=1` }).SIGNER_LIMITS ?? '',
      /^has the unknown type "\w+"; must be one of vault_transit, /,
    );
});

test('settings: SERVICE_IDENTITY_KEYS names keys or their beginnings', () => {
  const names = [
    'aws_kms=eu-central-1/alias/relayer-*',
    'aws_kms=us-east-1/arn:aws:kms:us-east-1:1:key/2',
    'aws_kms=*',
    'azure_key_vault=https://payouts.vault.azure.net/*',
  ];
  assert.deepEqual(loadSettings({ ...needed, SERVICE_IDENTITY_KEYS: names.join(', ') }).identityKeys, names);
  for (const wrong of [
    'aws_kms',
    'aws_kms=alias',
    'aws_kms=eu*',
    'aws_kms=eu-1/a*b',
    'azure_key_vault=https://payouts*',
    'azure_key_vault=https://payouts/a/b',
    'vault=x/y',
    'toString=a/b',
  ])
    assert.match(
      problemsOf({ ...needed, SERVICE_IDENTITY_KEYS: `aws_kms=*,${wrong}` }).SERVICE_IDENTITY_KEYS ?? '',
      new RegExp(`^cannot parse ${JSON.stringify(wrong).replace(/[*?]/g, '\\$&')}; expected aws_kms=`),
    );
});

test('settings: a URL without a host is refused, since its path would be taken for one', () => {
  for (const input of ['https:///collector', 'https:collector', 'https:/collector', 'https:\\\\collector', 'ftp://collector', 'collector'])
    assert.match(
      problemsOf({ ...needed, OTEL_EXPORTER_OTLP_ENDPOINT: input }).OTEL_EXPORTER_OTLP_ENDPOINT ?? '',
      /^must be a URL that begins with/,
    );
  assert.deepEqual(Object.keys(problemsOf({ ...needed, OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector:4318/v1' })), []);
});

test('settings: an empty variable counts as unset', () => {
  assert.equal(loadSettings({ ...needed, HOST: '', APP_PORT: '' }).port, 8080);
  assert.deepEqual(Object.keys(problemsOf({ ...needed, API_KEY: '' })), ['API_KEY']);
});

test('settings: report every problem at once', () => {
  assert.deepEqual(
    problemsOf({
      API_KEY: 'short-key',
      APP_PORT: '65536',
      DATABASE_URL: 'mysql://user:pass-word@db/relayer',
      WEBHOOK_ALLOW_PRIVATE: 'yes',
      WEBHOOK_RETRY_SECONDS: '5,soon',
      RATE_LIMIT_REQUESTS_PER_SECOND: '-1',
      RATE_LIMIT_BURST_SIZE: '0',
      CORS_ALLOWED_ORIGINS: 'https://a.example.com/',
      TLS_CERT_FILE: 'cert.pem',
      LOG_LEVEL: 'loud',
      RPC_TIMEOUT_MS: '0',
      MAX_FEE_PER_TRANSACTION: '0.1234567890123456789',
      TRANSACTION_EXPIRATION_HOURS: '0',
      SANDBOX_RPC_PORT: '1.5',
      SANDBOX_BLOCK_TIME: '-1',
    }),
    {
      API_KEY: 'has 9 characters; at least 32 are required',
      APP_PORT: 'must be an integer from 0 to 65535 (value: "65536")',
      DATABASE_URL: 'must be sqlite:<file> or postgres://<user>:<password>@<host>:<port>/<database>',
      STORAGE_ENCRYPTION_KEY:
        'is required. Key that encrypts stored secrets: base64 of 32 bytes. To create one: openssl rand -base64 32. To rotate it: relayer rotate-encryption-key.',
      WEBHOOK_ALLOW_PRIVATE: 'must be true or false (value: "yes")',
      WEBHOOK_RETRY_SECONDS: 'must be seconds separated by commas, for example 5,30,120 (value: "5,soon")',
      RATE_LIMIT_REQUESTS_PER_SECOND: 'must be an integer from 0 to 1000000 (value: "-1")',
      RATE_LIMIT_BURST_SIZE: 'must be an integer from 1 to 1000000 (value: "0")',
      CORS_ALLOWED_ORIGINS:
        'must be origins separated by commas, for example https://app.example.com, without a path or a trailing slash (value: "https://a.example.com/")',
      LOG_LEVEL: 'must be one of trace, debug, info, warn, error (value: "loud")',
      RPC_TIMEOUT_MS: 'must be an integer from 1 to 600000 (value: "0")',
      MAX_FEE_PER_TRANSACTION: 'must be 0, or an amount with up to 18 decimals, for example 1 or 0.05 (value: "0.1234567890123456789")',
      TRANSACTION_EXPIRATION_HOURS: 'must be off, or a number of hours above 0 and up to 876000, for example 4 or 0.5 (value: "0")',
      SANDBOX_RPC_PORT: 'must be an integer from 0 to 65535 (value: "1.5")',
      SANDBOX_BLOCK_TIME: 'must be an integer from 0 to 3600 (value: "-1")',
      TLS_KEY_FILE: 'must be set together with TLS_CERT_FILE',
    },
  );
});

test('settings: the encryption key is exactly 32 bytes in standard base64', () => {
  const sentence = 'must be base64 of exactly 32 bytes; to create one: openssl rand -base64 32';
  const almost = [
    Buffer.alloc(31).toString('base64'),
    Buffer.alloc(33).toString('base64'),
    Buffer.alloc(32, 255).toString('base64url'),
    `${encryptionKey}!`,
    'ab'.repeat(32),
  ];
  for (const key of almost)
    assert.deepEqual(problemsOf({ ...needed, STORAGE_ENCRYPTION_KEY: key }), { STORAGE_ENCRYPTION_KEY: sentence }, key);
});

test('settings: an API key has only characters that a header can carry', () => {
  for (const key of ['has a space in it, which no header takes', `${'k'.repeat(40)}é`]) {
    assert.deepEqual(problemsOf({ ...needed, API_KEY: key }), { API_KEY: 'must have only visible ASCII characters, without spaces' });
    assert.deepEqual(Object.keys(problemsOf({ ...needed, API_KEY_NEXT: key })), ['API_KEY_NEXT']);
  }
});

test('settings: the next API key is another one, or none', () => {
  assert.equal(loadSettings(needed).apiKeyNext, null);
  assert.equal(loadSettings({ ...needed, API_KEY_NEXT: 'n'.repeat(32) }).apiKeyNext, 'n'.repeat(32));
  assert.deepEqual(problemsOf({ ...needed, API_KEY_NEXT: needed.API_KEY }), {
    API_KEY_NEXT: 'must be another key than API_KEY, or empty',
  });
});

test('settings: never show a secret in a problem', () => {
  for (const { name } of settings.filter(({ secret }) => secret)) {
    const problems = problemsOf({ ...needed, [name]: 'hunter2 hunter2' });
    assert.deepEqual(Object.keys(problems), [name]);
    assert.ok(!JSON.stringify(problems).includes('hunter2'));
  }
});

test('settings: reject variables of OpenZeppelin Relayer if ignoring them would mislead', () => {
  const env = {
    ...needed,
    RESET_STORAGE_ON_START: 'true',
  };
  assert.deepEqual(new Set(Object.keys(problemsOf(env))), new Set(['RESET_STORAGE_ON_START']));
});

test('settings: METRICS_PORT opens no port that METRICS_ENABLED closes', () => {
  assert.deepEqual(Object.keys(problemsOf({ ...needed, METRICS_PORT: '8081', METRICS_ENABLED: 'FALSE' })), ['METRICS_PORT']);
  for (const METRICS_ENABLED of ['true', '', undefined])
    assert.equal(loadSettings({ ...needed, METRICS_PORT: '8081', METRICS_ENABLED }).metricsPort, 8081);
  assert.equal(loadSettings({ ...needed, METRICS_PORT: '', METRICS_ENABLED: 'false' }).metricsPort, null);
});

test('settings: mention variables of OpenZeppelin Relayer that have no effect, except harmless values', () => {
  const { notices } = loadSettings({
    ...needed,
    REDIS_URL: 'redis://:hunter2@redis:6379',
    METRICS_ENABLED: 'false',
    BACKGROUND_WORKER_NOTIFICATION_SENDER_CONCURRENCY: '30',
    REPOSITORY_STORAGE_TYPE: 'in_memory',
    DISTRIBUTED_MODE: 'true',
    REDIS_POOL_MAX_SIZE: '10',
    QUEUE_BACKEND: 'sqs',
    PATH: '/usr/bin',
    AWS_REGION: 'eu-west-1',
  });
  assert.deepEqual(notices, [
    'BACKGROUND_WORKER_NOTIFICATION_SENDER_CONCURRENCY has no effect: this service has no such setting',
    'DISTRIBUTED_MODE has no effect: to run several instances, give them the same PostgreSQL database',
    'METRICS_ENABLED has no effect: metrics need a key on APP_PORT, and none on METRICS_PORT; unset that to serve none without a key',
    'QUEUE_BACKEND has no effect: this service needs no external queue',
    'REDIS_POOL_MAX_SIZE has no effect: this service needs no Redis; it stores everything in DATABASE_URL',
    'REDIS_URL has no effect on the service, which needs no Redis; only relayer import-openzeppelin reads it',
  ]);
});

test('settings: one can be read alone', () => {
  assert.equal(readSetting({}, 'databaseUrl'), 'sqlite:./data/relayer.db');
  assert.throws(() => readSetting({ DATABASE_URL: 'mysql:x' }, 'databaseUrl'), ConfigError);
});

test('settings: a secret can be in the file that its variable with _FILE names', async () => {
  const file = join(await temporaryFolder(), 'key');
  writeFileSync(file, `${'f'.repeat(40)}\n`);
  const { API_KEY, ...others } = needed;
  assert.equal(loadSettings({ ...others, API_KEY_FILE: file }).apiKey, 'f'.repeat(40));
  const problemsOf = (env: Record<string, string | undefined>) => {
    try {
      loadSettings(env);
    } catch (error) {
      return (error as ConfigError).problems;
    }
    return [];
  };
  assert.deepEqual(problemsOf({ ...others, API_KEY, API_KEY_FILE: file }), [
    { path: 'API_KEY', problem: 'has another value than the file that API_KEY_FILE names; set only one of them' },
  ]);
  assert.equal(loadSettings({ ...others, API_KEY: 'f'.repeat(40), API_KEY_FILE: file }).apiKey, 'f'.repeat(40));
  writeFileSync(file, '');
  assert.deepEqual(problemsOf({ ...others, API_KEY_FILE: file }), [
    { path: 'API_KEY', problem: 'has no value: API_KEY_FILE names a file that is empty' },
  ]);
  // The text of a secret is never shown.
  writeFileSync(file, 'short-secret');
  assert.deepEqual(problemsOf({ ...others, API_KEY_FILE: file }), [
    { path: 'API_KEY', problem: 'has 12 characters; at least 32 are required' },
  ]);
});
