import type { Environment } from './environment.js';
import type { Problem } from './problem.js';

/** A variable of OpenZeppelin Relayer that this service does not use. */
interface ForeignSetting {
  /** A name, or the beginning of a family of names (`REDIS_*`). */
  readonly name: string;
  /** Values (lower case) that change nothing here. */
  readonly harmless?: readonly string[];
  /** Other values are a problem if ignoring them would mislead, else a notice. */
  readonly effect: 'problem' | 'notice';
  readonly sentence: string;
}

const noRedis = 'has no effect: this service needs no Redis; it stores everything in DATABASE_URL';
const importOnly = 'has no effect on the service, which needs no Redis; only relayer import-openzeppelin reads it';
const noQueue = 'has no effect: this service needs no external queue';
const noTuning = 'has no effect: this service has no such setting';
const logOutput = 'has no effect: the log is JSON lines on standard output';

const foreign: readonly ForeignSetting[] = [
  {
    name: 'RESET_STORAGE_ON_START',
    harmless: ['false'],
    effect: 'problem',
    sentence: 'is not supported: the service never deletes stored data at start; unset it',
  },
  {
    name: 'DISTRIBUTED_MODE',
    harmless: ['false'],
    // Ignoring it is safe: instances share a PostgreSQL database without it, and with SQLite a second one refuses to start.
    effect: 'notice',
    sentence: 'has no effect: to run several instances, give them the same PostgreSQL database',
  },
  { name: 'REPOSITORY_STORAGE_TYPE', harmless: ['in_memory', 'inmemory', 'in-memory'], effect: 'notice', sentence: noRedis },
  { name: 'REDIS_URL', effect: 'notice', sentence: importOnly },
  { name: 'REDIS_KEY_PREFIX', effect: 'notice', sentence: importOnly },
  { name: 'REDIS_*', effect: 'notice', sentence: noRedis },
  { name: 'QUEUE_BACKEND', harmless: ['redis'], effect: 'notice', sentence: noQueue },
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
  { name: 'STELLAR_*', effect: 'notice', sentence: noTuning },
  {
    name: 'METRICS_ENABLED',
    harmless: ['true'],
    effect: 'notice',
    sentence: 'has no effect: metrics need a key on APP_PORT, and none on METRICS_PORT; unset that to serve none without a key',
  },
  { name: 'ENABLE_SWAGGER', effect: 'notice', sentence: 'has no effect: the API documentation is always at /docs' },
  { name: 'RUST_LOG', effect: 'notice', sentence: 'has no effect: use LOG_LEVEL' },
  { name: 'LOG_FORMAT', effect: 'notice', sentence: logOutput },
  { name: 'LOG_MODE', harmless: ['stdout'], effect: 'notice', sentence: logOutput },
  { name: 'LOG_DATA_DIR', effect: 'notice', sentence: logOutput },
  { name: 'LOG_MAX_SIZE', effect: 'notice', sentence: logOutput },
  { name: 'IN_DOCKER', effect: 'notice', sentence: 'has no effect: set CONFIG_DIR to the folder of the configuration file' },
  { name: 'PLUGIN_*', effect: 'notice', sentence: 'has no effect: plugins run in processes of their own' },
];

/**
 * Returns the variables of OpenZeppelin Relayer that are set but not used here: problems if ignoring them would mislead, notices (whole
 * sentences) if they only have no effect. Never shows values: some hold passwords.
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
