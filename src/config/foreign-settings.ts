import type { Environment } from './environment.js';
import type { Problem } from './problem.js';

/** A variable of the existing relayer that this service does not honour. */
interface ForeignSetting {
  /** A name, or the beginning of a family of names (`REDIS_*`). */
  readonly name: string;
  /** Texts (lower case) that ask for what happens here anyway, or for nothing. */
  readonly harmless?: readonly string[];
  /** Other texts: a problem where its user would be misled, else a notice. */
  readonly effect: 'problem' | 'notice';
  readonly sentence: string;
}

const noRedis = 'has no effect: no Redis is needed, everything is in DATABASE_URL';
const noQueue = 'has no effect: there is no outside queue';
const noTuning = 'has no effect: this service is not tuned by it';
const outputLog = 'has no effect: the log is JSON lines on standard output';

const foreign: readonly ForeignSetting[] = [
  {
    name: 'REPOSITORY_STORAGE_TYPE',
    harmless: ['in_memory', 'inmemory', 'in-memory'],
    effect: 'problem',
    sentence: 'is not supported: everything is stored in DATABASE_URL; unset it',
  },
  {
    name: 'RESET_STORAGE_ON_START',
    harmless: ['false'],
    effect: 'problem',
    sentence: 'is not supported: nothing stored is ever dropped at a start',
  },
  { name: 'DISTRIBUTED_MODE', harmless: ['false'], effect: 'problem', sentence: 'is not supported yet: one instance works on a database' },
  { name: 'QUEUE_BACKEND', harmless: ['redis'], effect: 'problem', sentence: 'is not supported: there is no outside queue; unset it' },
  {
    name: 'RPC_ALLOWED_HOSTS',
    effect: 'problem',
    sentence: 'is not supported: only the URLs of the configuration file are called; unset it',
  },
  {
    name: 'RPC_BLOCK_PRIVATE_IPS',
    harmless: ['false'],
    effect: 'problem',
    sentence: 'is not supported: the URLs of the configuration file are called wherever they are; unset it',
  },
  { name: 'REDIS_*', effect: 'notice', sentence: noRedis },
  { name: 'SQS_*', effect: 'notice', sentence: noQueue },
  { name: 'PUBSUB_*', effect: 'notice', sentence: noQueue },
  { name: 'RABBITMQ_*', effect: 'notice', sentence: noQueue },
  { name: 'BACKGROUND_WORKER_*', effect: 'notice', sentence: noTuning },
  { name: 'PROVIDER_*', effect: 'notice', sentence: noTuning },
  { name: 'RPC_FAILURE_THRESHOLD', effect: 'notice', sentence: noTuning },
  { name: 'RPC_PAUSE_DURATION_SECS', effect: 'notice', sentence: noTuning },
  { name: 'RELAYER_CONCURRENCY_LIMIT', effect: 'notice', sentence: noTuning },
  { name: 'MAX_CONNECTIONS', effect: 'notice', sentence: noTuning },
  { name: 'CONNECTION_BACKLOG', effect: 'notice', sentence: noTuning },
  { name: 'REQUEST_TIMEOUT_SECONDS', effect: 'notice', sentence: noTuning },
  { name: 'ACTIX_WORKERS', effect: 'notice', sentence: noTuning },
  { name: 'TOKIO_WORKER_THREADS', effect: 'notice', sentence: noTuning },
  { name: 'METRICS_ENABLED', effect: 'notice', sentence: 'has no effect: metrics are always at /metrics of the one port' },
  { name: 'METRICS_PORT', effect: 'notice', sentence: 'has no effect: metrics are always at /metrics of the one port' },
  { name: 'ENABLE_SWAGGER', effect: 'notice', sentence: 'has no effect: the documentation is always at /docs' },
  { name: 'RUST_LOG', effect: 'notice', sentence: 'has no effect: use LOG_LEVEL' },
  { name: 'LOG_FORMAT', effect: 'notice', sentence: outputLog },
  { name: 'LOG_MODE', harmless: ['stdout'], effect: 'notice', sentence: outputLog },
  { name: 'LOG_DATA_DIR', effect: 'notice', sentence: outputLog },
  { name: 'LOG_MAX_SIZE', effect: 'notice', sentence: outputLog },
  { name: 'IN_DOCKER', effect: 'notice', sentence: 'has no effect: CONFIG_DIR says where the configuration file is' },
  { name: 'STELLAR_*', effect: 'notice', sentence: 'has no effect: this service has no such settings' },
  { name: 'PLUGIN_*', effect: 'notice', sentence: 'has no effect: plugins are not supported' },
];

/**
 * What the environment sets of the existing relayer's variables that are not honoured here: problems where ignoring them would
 * mislead, notices (whole sentences) where they only have no effect. Values are never shown: some hold passwords.
 */
export function foreignSettings(env: Environment): { readonly problems: readonly Problem[]; readonly notices: readonly string[] } {
  const problems: Problem[] = [];
  const notices: string[] = [];
  for (const [name, value] of Object.entries(env).sort(([a], [b]) => (a < b ? -1 : 1))) {
    const entry = foreign.find((candidate) => matches(candidate.name, name));
    if (entry === undefined || value === undefined || value === '' || entry.harmless?.includes(value.toLowerCase())) continue;
    if (entry.effect === 'problem') problems.push({ path: name, problem: entry.sentence });
    else notices.push(`${name} ${entry.sentence}`);
  }
  return { problems, notices };
}

function matches(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : pattern === name;
}
