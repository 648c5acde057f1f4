import type { LoadedConfig } from '../config/config-file.js';
import { ConfigError, type Problem } from '../config/problem.js';
import type { RelayerEntry } from '../config/relayer-entries.js';
import type { Settings } from '../config/settings.js';
import type { StoredDefinitions } from '../core/definitions/definition-writer.js';
import { createNetworks, type Networks, networkIdOf } from '../core/network/networks.js';
import { createNodeUrlPolicy, type NodeUrlPolicy } from '../core/network/node-url-policy.js';
import { urlsOf } from '../core/network/node-urls.js';
import { followFile } from '../core/notification/follow-file.js';
import type { SecretBox } from '../core/ports/secret-box.js';
import type { Store } from '../core/ports/store/store.js';
import type { Definition } from '../core/records/definition.js';
import { storedRelayerFrom } from '../core/relayer/stored-relayer.js';
import { type HostedKey, hostedKeyFromStored, type PinnedKey, pinFrom } from '../core/signer/hosted-key.js';
import { signerPurpose } from '../core/signer/signers.js';
import type { Clock } from '../core/work/clock.js';

/** A relayer to run, and where it comes from, for reports of problems. */
export interface RelayerInForce {
  readonly entry: RelayerEntry;
  readonly origin: string;
}

/** A key that the API created, with its secret as it is stored. */
interface StoredKey {
  readonly id: string;
  readonly sealed: string;
  /** 32 bytes; the reader overwrites them after use. */
  readonly privateKey: Buffer;
}

/** A hosted key that the API created, with its secret as it is stored. */
interface StoredHostedKey {
  readonly id: string;
  readonly sealed: string;
  readonly hosted: HostedKey;
}

/** The configuration file together with the definitions of the API. */
export interface Combined {
  readonly networks: Networks;
  /** Signers of the file, with their paths in it. */
  readonly fileSigners: readonly { readonly entry: LoadedConfig['signers'][number]; readonly origin: string }[];
  /** The definitions of the signers that the API created, oldest first. */
  readonly storedSigners: readonly Definition[];
  /** The public keys of the hosted signers that were opened before. */
  readonly pinnedKeys: readonly PinnedKey[];
  /** The file's in its order, then those of the API, oldest first. */
  readonly relayers: readonly RelayerInForce[];
  /** Sentences about parts of the file that have no effect. */
  readonly warnings: readonly string[];
  /** References to something that the file no longer has. */
  readonly problems: readonly Problem[];
}

/** The configuration file together with the changes by API, at a start. */
export interface ConfigInForce extends Omit<Combined, 'storedSigners' | 'problems'> {
  /** Oldest first. */
  readonly storedKeys: readonly (StoredKey | StoredHostedKey)[];
}

interface Deps {
  readonly store: Store;
  readonly secretBox: SecretBox;
  readonly clock: Clock;
}

/**
 * Combines the configuration file with the definitions of the API. An entry that the API never changed follows the file; one that the API created or changed is
 * kept; one that it deleted stays deleted until it is removed from the file.
 */
export function combine(secretBox: Pick<SecretBox, 'open'>, config: LoadedConfig, stored: StoredDefinitions): Combined {
  const warnings: string[] = [];
  const problems: Problem[] = [];
  const networks = createNetworks(config.networks);
  for (const definition of stored.network) {
    const network = networks.find(definition.id);
    if (network === undefined) {
      warnings.push(
        `network ${definition.id}: the RPC URLs set by the API have no effect, because the configuration no longer has this network`,
      );
    } else {
      networks.put({ ...network, rpcUrls: urlsOf(secretBox, definition) });
      warnings.push(keptSentence('network', definition.id));
    }
  }

  const signers = split(stored.signer);
  const fileSigners = config.signers.flatMap((entry, index) =>
    isHidden('signer', entry.id, signers, warnings) ? [] : [{ entry, origin: `signers[${index}]` }],
  );
  const signerIds = new Set([...fileSigners.map(({ entry }) => entry.id), ...signers.kept.keys()]);

  const definitions = split(stored.relayer);
  const fromApi = new Map([...definitions.kept.values()].map((definition) => [definition.id, relayerFrom(definition)]));
  const fromFile = config.relayers.flatMap((entry, index): readonly (RelayerInForce | null)[] => {
    if (!isHidden('relayer', entry.id, definitions, warnings))
      return [{ entry: { ...entry, network: currentNetwork(entry) }, origin: `relayers[${index}]` }];
    const kept = fromApi.get(entry.id);
    fromApi.delete(entry.id);
    return kept === undefined ? [] : [kept];
  });
  const relayers = [...fromFile, ...fromApi.values()].filter((relayer) => relayer !== null);
  for (const { origin, entry } of relayers) {
    if (!signerIds.has(entry.signerId))
      problems.push({
        path: `${origin}.signer_id`,
        problem: `no signer has the id ${JSON.stringify(entry.signerId)}; it was deleted by the API or removed from the file: restore it, or, if the API deleted it, use another id`,
      });
  }
  return {
    networks,
    fileSigners,
    storedSigners: [...signers.kept.values()],
    pinnedKeys: stored.pinned_key.map(pinFrom),
    relayers,
    warnings,
    problems,
  };

  function relayerFrom(definition: Definition): RelayerInForce | null {
    const { network: name, ...relayer } = storedRelayerFrom(secretBox, definition);
    const origin = `the stored relayer ${definition.id}`;
    const network = networks.find(networkIdOf({ type: relayer.networkType, name }));
    if (network !== undefined) return { entry: { ...relayer, network }, origin };
    problems.push({
      path: `${origin}.network`,
      problem: `no ${relayer.networkType} network has the name ${JSON.stringify(name)}; it was removed from the file: restore it`,
    });
    return null;
  }

  /** The network with the URLs that the API gave it. */
  function currentNetwork({ network }: RelayerEntry): RelayerEntry['network'] {
    return networks.find(networkIdOf(network)) ?? network;
  }
}

/**
 * Combines the configuration file with the definitions of the API at a start, and updates the stored notifications to match the file. Throws ConfigError if a
 * stored relayer refers to something that the file no longer has.
 */
export async function configInForce(
  { store, clock, ...deps }: Deps,
  config: LoadedConfig,
  stored: StoredDefinitions,
): Promise<ConfigInForce> {
  const secretBox = throwingConfigError(deps.secretBox);
  const { storedSigners, warnings, ...combined } = combine(secretBox, config, stored);
  const storedKeys = storedSigners.map((definition) => storedKeyFrom(secretBox, definition));
  const problems = [...combined.problems];
  const used = combined.relayers.flatMap(({ entry }) => entry.notificationId ?? []);
  const followed = await followFile({ store, secretBox, clock }, config.notifications, used);
  for (const { origin, entry } of combined.relayers) {
    const { notificationId } = entry;
    if (notificationId !== null && followed.missing.includes(notificationId))
      problems.push({
        path: `${origin}.notification_id`,
        problem: `no notification has the id ${JSON.stringify(notificationId)}; it was deleted by the API or removed from the file: restore it, or, if the API deleted it, use another id`,
      });
  }
  if (problems.length > 0) throw new ConfigError(problems);

  await forgetDeleted(store, [...goneFrom(config.signers, stored.signer), ...goneFrom(config.relayers, stored.relayer)]);
  return { ...combined, storedKeys, warnings: [...followed.warnings, ...warnings] };
}

/** Returns the rules for the RPC URLs that the API sets. */
export function nodeUrlPolicyOf(
  settings: Pick<Settings, 'rpcAllowedHosts' | 'rpcBlockPrivateIps'>,
  { networks, relayers }: Pick<LoadedConfig, 'networks' | 'relayers'>,
): NodeUrlPolicy {
  const configured = [...networks.map(({ rpcUrls }) => rpcUrls), ...relayers.map(({ customRpcUrls }) => customRpcUrls)].flat();
  const limits = { allowedHosts: settings.rpcAllowedHosts, blockPrivate: settings.rpcBlockPrivateIps };
  return createNodeUrlPolicy(
    limits,
    configured.map(({ url }) => url),
  );
}

/** Returns the box, which throws ConfigError if it cannot open a secret: the service was started with a key other than the earlier one. */
function throwingConfigError(secretBox: SecretBox): SecretBox {
  return {
    ...secretBox,
    open(sealed, purpose) {
      try {
        return secretBox.open(sealed, purpose);
      } catch {
        const problem = `cannot decrypt the stored secret of ${purpose.replace(':', ' ')}: it was encrypted with another key, or changed`;
        throw new ConfigError([{ path: 'STORAGE_ENCRYPTION_KEY', problem }]);
      }
    },
  };
}

/** Definitions by id: those with content, and those that mark something as deleted. */
interface Split {
  readonly kept: ReadonlyMap<string, Definition>;
  readonly deleted: ReadonlySet<string>;
}

function split(definitions: readonly Definition[]): Split {
  return {
    kept: new Map(definitions.filter(({ content }) => content !== null).map((definition) => [definition.id, definition])),
    deleted: new Set(definitions.filter(({ content }) => content === null).map(({ id }) => id)),
  };
}

function isHidden(kind: 'signer' | 'relayer', id: string, { kept, deleted }: Split, warnings: string[]): boolean {
  if (deleted.has(id)) warnings.push(`${kind} ${id} of the configuration file was deleted by the API and stays deleted`);
  else if (kept.has(id)) warnings.push(keptSentence(kind, id));
  else return false;
  return true;
}

function keptSentence(kind: Definition['kind'], id: string): string {
  const what = kind === 'network' ? "the configuration file's RPC URLs are not used" : "the configuration file's entry is not used";
  return `${kind} ${id} was changed by the API and is kept; ${what}`;
}

/** Opens the secret of a signer that the API created. */
export function storedKeyFrom(secretBox: Pick<SecretBox, 'open'>, { id, content, sealed }: Definition): StoredKey | StoredHostedKey {
  if (sealed === null || content === null) throw new Error(`the stored signer ${id} has no key`);
  const secret = secretBox.open(sealed, signerPurpose(id));
  const isLocal = 'type' in content && content.type === 'local';
  return isLocal ? { id, sealed, privateKey: Buffer.from(secret, 'hex') } : { id, sealed, hosted: hostedKeyFromStored(content, secret) };
}

/** The deleted entries that were removed from the file. */
function goneFrom(entries: readonly { readonly id: string }[], definitions: readonly Definition[]): readonly Definition[] {
  return definitions.filter(({ id, content }) => content === null && !entries.some((entry) => entry.id === id));
}

/** Forgets deleted entries: one that is added to the file again is new. */
async function forgetDeleted({ change, commit }: Deps['store'], gone: readonly Definition[]): Promise<void> {
  if (gone.length === 0) return;
  const reopened = gone.flatMap(({ kind, id }) => (kind === 'relayer' ? [change.reopenRelayer(id)] : []));
  await commit([...gone.map((definition) => change.deleteDefinition(definition)), ...reopened]);
}
