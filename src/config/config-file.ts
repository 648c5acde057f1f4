import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Network } from '../core/relayer/network.js';
import { JsonError, type JsonValue, jsonFromText } from '../json/json-document.js';
import type { Environment } from './environment.js';
import { type FileEntry, fileEntries } from './file-entries.js';
import { fileProblem } from './file-problem.js';
import { networkEntries } from './network-entries.js';
import { networkSources } from './network-sources.js';
import { type NotificationEntry, notificationEntries } from './notification-entries.js';
import { ConfigError, type Problem } from './problem.js';
import { type RelayerEntry, relayerEntries } from './relayer-entries.js';
import { readBySchema } from './schema-problems.js';
import { type CurvesOfKeystore, type LocalSignerEntry, signerEntries } from './signer-entries.js';

/** Where the configuration file is, and the variables that its secrets are in. */
export interface ConfigSource {
  readonly dir: string;
  readonly fileName: string;
  readonly env: Environment;
  readonly curvesOfKeystore: CurvesOfKeystore;
}

/** The configuration file, checked and with defaults filled in; lists are in the order of the file. */
export interface LoadedConfig {
  /** The file's own, then those that come with the service; whether a relayer uses them or not. */
  readonly networks: readonly Network[];
  readonly relayers: readonly RelayerEntry[];
  readonly signers: readonly LocalSignerEntry[];
  readonly notifications: readonly NotificationEntry[];
  /** Sentences about what the file has and nothing uses. */
  readonly notices: readonly string[];
}

const fileSchema = z.strictObject({
  relayers: z.unknown().optional(),
  signers: z.unknown().optional(),
  notifications: z.unknown().optional(),
  networks: z.unknown().optional(),
  plugins: z.unknown().optional(),
});

/**
 * Reads `config.json` in the format of the existing relayer.
 *
 * Throws ConfigError with every problem and its path in the file (`relayers[2].policies.gas_price_cap`). Opens no keystore and calls no
 * node.
 */
export async function loadConfig({ dir, fileName, env, curvesOfKeystore }: ConfigSource): Promise<LoadedConfig> {
  const problems: Problem[] = [];
  const document = await readDocument(join(dir, fileName));
  if (readBySchema(fileSchema, document, '', problems) === undefined && !isObject(document)) {
    throw new ConfigError([{ path: join(dir, fileName), problem: 'must be a JSON object' }]);
  }
  const entriesOf = (name: string): readonly FileEntry[] => fileEntries(field(document, name), name, problems);

  if (entriesOf('plugins').length > 0) problems.push({ path: 'plugins', problem: 'plugins are not supported' });
  const networks = networkEntries(await networkSources(field(document, 'networks'), dir, problems), env, problems);
  const signers = await signerEntries(entriesOf('signers'), env, curvesOfKeystore, problems);
  const notifications = notificationEntries(entriesOf('notifications'), env, problems);
  const references = { networks, signers: signers.declared, notificationIds: notifications.declared };
  if (field(document, 'relayers') === undefined) problems.push({ path: 'relayers', problem: 'is required' });
  const relayers = relayerEntries(entriesOf('relayers'), references, env, problems);

  if (problems.length > 0) throw new ConfigError(problems);
  return {
    networks: networks.networks,
    relayers,
    signers: signers.signers,
    notifications: notifications.notifications,
    notices: networks.notices,
  };
}

async function readDocument(file: string): Promise<JsonValue> {
  try {
    return jsonFromText(await readFile(file, 'utf8'));
  } catch (error) {
    throw new ConfigError([{ path: file, problem: error instanceof JsonError ? error.message : fileProblem(error) }]);
  }
}

function isObject(document: JsonValue): boolean {
  return typeof document === 'object' && document !== null && !Array.isArray(document);
}

function field(document: JsonValue, name: string): unknown {
  return Object.getOwnPropertyDescriptor(Object(document), name)?.value;
}
