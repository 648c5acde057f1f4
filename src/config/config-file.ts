import { readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Reading } from '../codec/reading.js';
import type { Network } from '../core/records/network.js';
import type { Plugin } from '../core/records/plugin.js';
import type { JsonObject, JsonValue } from '../json/json-value.js';
import { type FileEntry, fileEntries } from './file-entries.js';
import { fileProblem, isMissing, readJsonFile } from './json-file.js';
import { networkEntries } from './network-entries.js';
import { type NotificationEntry, notificationEntries } from './notification-entries.js';
import { pluginEntries } from './plugin-entries.js';
import { ConfigError, Problems } from './problem.js';
import { type RelayerEntry, relayerEntries } from './relayer-entries.js';
import { type SignerEntry, type SignerSources, signerEntries } from './signer-entries.js';

/** Where the configuration file is, and where its secrets and keystores come from. */
export interface ConfigSource extends SignerSources {
  readonly dir: string;
  readonly fileName: string;
}

/** The configuration file, checked and with defaults filled in; lists are in the order of the file. */
export interface LoadedConfig {
  /** The file's own, then the bundled ones, even if no relayer uses them. */
  readonly networks: readonly Network[];
  readonly relayers: readonly RelayerEntry[];
  readonly signers: readonly SignerEntry[];
  readonly notifications: readonly NotificationEntry[];
  readonly plugins: readonly Plugin[];
  /** Sentences about settings of the file that have no effect or are insecure. */
  readonly notices: readonly string[];
  /**
   * The SHA-256 of each file that was read, in hex, by its name: the configuration file's own, and files of networks as the file names
   * them.
   */
  readonly digests: ReadonlyMap<string, string>;
  /** See `ConfigFiles`. */
  readonly revision: number;
}

/** The folder of networks, beside the configuration file. */
const defaultFolder = 'networks';
const revisionKey = 'revision';
const sections = ['relayers', 'signers', 'notifications', 'networks', 'plugins'];

/**
 * Reads `config.json` in the format of OpenZeppelin Relayer. Its entries are the API's Create requests: the same codec reads them and the
 * same rules check them.
 *
 * Throws ConfigError with every problem and its path in the file (`relayers[2].policies.gas_price_cap`). Decrypts no keystore and calls
 * no node.
 */
export async function loadConfig({ dir, fileName, env, readKeystore }: ConfigSource): Promise<LoadedConfig> {
  const problems = new Problems();
  const digests = new Map<string, string>();
  const { document, digest } = readDocument(join(dir, fileName));
  digests.set(fileName, digest);
  const unknown = new Reading(undefined, []);
  for (const name of document.keys())
    if (name !== revisionKey && !sections.includes(name)) unknown.refuseUnknown('', name, sections, 'section');
  for (const { field, description } of unknown.problems) problems.add(field, description);
  const entriesOf = (name: string): readonly FileEntry[] => fileEntries(document.get(name), name, problems);

  const networks = networkEntries(await networkSources(document.get('networks'), dir, digests, problems), env, problems);
  const signers = signerEntries(entriesOf('signers'), { env, readKeystore }, problems);
  const notifications = notificationEntries(entriesOf('notifications'), env, problems);
  const plugins = pluginEntries(entriesOf('plugins'), env, problems);
  const references = { networks, signers: signers.declared, notificationIds: notifications.declared };
  if (!document.has('relayers')) problems.add('relayers', 'is required');
  const relayers = relayerEntries(entriesOf('relayers'), references, env, problems);

  const revision = revisionFrom(document.get(revisionKey));
  if (revision === undefined) problems.add(revisionKey, 'must be an integer of at most 15 digits, 0 or higher');

  if (problems.list.length > 0) throw new ConfigError(problems.list, problems.notices);
  return {
    networks: networks.networks,
    relayers,
    signers: signers.signers,
    notifications: notifications.notifications,
    plugins,
    notices: problems.notices,
    digests,
    revision: revision ?? 0,
  };
}

/** Reads the revision of the file; undefined: the value is none. */
function revisionFrom(value: JsonValue | undefined): number | undefined {
  if (value === undefined) return 0;
  return typeof value === 'number' && value >= 0 ? value : undefined;
}

function readDocument(file: string): { readonly document: JsonObject; readonly digest: string } {
  const read = readJsonFile(file);
  if ('value' in read && read.value instanceof Map) return { document: read.value, digest: read.digest };
  throw new ConfigError([{ path: file, problem: 'problem' in read ? read.problem : 'must be a JSON object' }]);
}

/**
 * Returns the networks of the configuration: a list in the file itself, or a `*.json` file or a folder of them with `{"networks": [...]}`
 * in each.
 *
 * `value` is what the file has under `networks`; absent, null and "" mean the folder `networks` next to the file, if it exists. A path is
 * relative to the working folder. Files are read in the order of their names.
 */
async function networkSources(
  value: JsonValue | undefined,
  configDir: string,
  digests: Map<string, string>,
  problems: Problems,
): Promise<readonly FileEntry[]> {
  if (value !== undefined && value !== null && typeof value !== 'string') return fileEntries(value, 'networks', problems);
  const isGiven = typeof value === 'string' && value !== '';
  const place = isGiven ? value : join(configDir, defaultFolder);
  let files: readonly string[];
  try {
    files = (await stat(place)).isDirectory() ? await filesOf(place) : [place];
  } catch (error) {
    // The default folder is optional, since networks are bundled too.
    if (isGiven || !isMissing(error))
      problems.add('networks', `${place} ${fileProblem(error)}; copy it, or leave networks out to use the bundled ones`);
    return [];
  }
  if (files.length === 0 && isGiven) problems.add('networks', `the folder ${place} has no *.json files`);
  // The folder of the configuration may have another path on another machine.
  const nameOf = (file: string) => (isGiven ? file : join(defaultFolder, basename(file)));
  return files.flatMap((file) => entriesOfFile(file, (digest) => digests.set(nameOf(file), digest), problems));
}

async function filesOf(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder);
  const chosen = names.filter((name) => name.toLowerCase().endsWith('.json')).sort();
  return chosen.map((name) => join(folder, name));
}

function entriesOfFile(file: string, useDigest: (digest: string) => void, problems: Problems): readonly FileEntry[] {
  const read = readJsonFile(file);
  if ('digest' in read) useDigest(read.digest);
  const networks = 'value' in read && read.value instanceof Map ? read.value.get('networks') : undefined;
  if (networks !== undefined) return fileEntries(networks, `${file} networks`, problems);
  problems.add(file, 'problem' in read ? read.problem : 'must be an object with an array "networks"');
  return [];
}
