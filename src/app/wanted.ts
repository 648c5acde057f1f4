import type { LoadedConfig } from '../config/config-file.js';
import type { Problem } from '../config/problem.js';
import type { RelayerEntry } from '../config/relayer-entries.js';
import type { SignerEntry } from '../config/signer-entries.js';
import type { DefinitionWrite, StoredDefinitions } from '../core/definitions/definition-writer.js';
import { createNetworks, type Networks, networkIdOf } from '../core/network/networks.js';
import { urlsOf } from '../core/network/node-urls.js';
import { type Plugins, pluginFrom } from '../core/plugin/plugins.js';
import type { SecretBox } from '../core/ports/secret-box.js';
import type { Definition } from '../core/records/definition.js';
import type { Network } from '../core/records/network.js';
import type { Plugin } from '../core/records/plugin.js';
import { type StoredRelayer, storedRelayerFrom } from '../core/relayer/stored-relayer.js';
import { type PinnedKey, pinFrom } from '../core/signer/hosted-key.js';

/** A signer that should be open. */
export interface WantedSigner {
  readonly id: string;
  /** Where it comes from, for reports of problems. */
  readonly origin: string;
  /** The entry of the file, or what the API stored. */
  readonly source: SignerEntry | Definition;
  /** The stored secret, which no two definitions share; null: the signer comes from the file. */
  readonly sealed: string | null;
  /** The public key that it had when it was first opened; null: it was not, or the service itself holds the key. */
  readonly pin: PinnedKey | null;
}

/** The ids of what may have changed. */
export interface Touched {
  readonly networks: ReadonlySet<string>;
  readonly signers: ReadonlySet<string>;
  readonly relayers: ReadonlySet<string>;
}

/**
 * What should run: the configuration file together with the definitions of the API. An entry that the API never changed follows the file;
 * one that the API created or changed is kept; one that it deleted stays deleted until it is removed from the file. A relayer whose
 * policies the file locks follows the file, too, except that the API can pause it; so do the RPC URLs that it uses.
 */
export interface Wanted {
  /** Takes in all definitions, or only the written ones, and returns what may have changed. */
  learn(stored: StoredDefinitions | readonly DefinitionWrite[]): Touched;
  /** The file's networks, with the RPC URLs that the API gave them. */
  readonly networks: Networks;
  readonly plugins: Plugins;
  signer(id: string): WantedSigner | undefined;
  /** Undefined, too, if its network is gone, which is one of the problems. */
  relayer(id: string): RelayerEntry | undefined;
  /** Where a relayer comes from, for reports of problems. */
  originOf(relayerId: string): string;
  /** References of relayers to something that the file no longer has. */
  problemsOf(relayerIds: Iterable<string>): readonly Problem[];
  /** Sentences about parts of the file that have no effect. */
  warnings(): readonly string[];
}

const kinds = ['relayer', 'signer', 'network', 'pinned_key', 'plugin'] as const;

type ById = Readonly<Record<Definition['kind'], Map<string, Definition>>>;

/** Creates it, knowing only the file. Its methods throw what `secretBox` throws. */
export function createWanted(secretBox: Pick<SecretBox, 'open'>, config: LoadedConfig): Wanted {
  const fileSigners = byId(config.signers);
  const fileRelayers = byId(config.relayers);
  const filePlugins = byId(config.plugins);
  const fileNetworks = new Map(config.networks.map((network) => [networkIdOf(network), network]));
  const networks = createNetworks(config.networks);
  const lockedNetworks = new Set(
    config.relayers.flatMap((one) => (one.policiesLocked && one.customRpcUrls.length === 0 ? [networkIdOf(one.network)] : [])),
  );
  const opened = new WeakMap<Definition, StoredRelayer>();
  const openedPlugins = new WeakMap<Definition, Plugin>();
  const definitions: ById = { relayer: new Map(), signer: new Map(), network: new Map(), pinned_key: new Map(), plugin: new Map() };

  function learnAll(stored: StoredDefinitions): Touched {
    // The file's entries in its order, then the API's, oldest first.
    const signers = new Set([...fileSigners.keys(), ...definitions.signer.keys(), ...stored.signer.map(({ id }) => id)]);
    const relayers = new Set([...fileRelayers.keys(), ...definitions.relayer.keys(), ...stored.relayer.map(({ id }) => id)]);
    for (const kind of kinds) {
      definitions[kind].clear();
      for (const definition of stored[kind]) definitions[kind].set(definition.id, definition);
    }
    return { networks: new Set(fileNetworks.keys()), signers, relayers };
  }

  function learnWritten(writes: readonly DefinitionWrite[]): Touched {
    const idsOf = (kind: Definition['kind']) => new Set(writes.flatMap((write) => (write.kind === kind ? [write.id] : [])));
    for (const write of writes) {
      if ('content' in write) definitions[write.kind].set(write.id, write);
      else definitions[write.kind].delete(write.id);
    }
    return { networks: idsOf('network'), signers: idsOf('signer'), relayers: idsOf('relayer') };
  }

  /** The network with the URLs that the API gave it. */
  function networkFrom(network: Network): Network {
    const id = networkIdOf(network);
    const definition = definitions.network.get(id);
    return definition === undefined || lockedNetworks.has(id) ? network : { ...network, rpcUrls: urlsOf(secretBox, definition) };
  }

  /** What a definition that has content says; its URLs are opened once. */
  function storedRelayer(definition: Definition): StoredRelayer {
    const known = opened.get(definition);
    if (known !== undefined) return known;
    const relayer = storedRelayerFrom(secretBox, definition);
    opened.set(definition, relayer);
    return relayer;
  }

  function storedPlugin(definition: Definition): Plugin {
    const plugin = openedPlugins.get(definition) ?? pluginFrom(secretBox, definition);
    openedPlugins.set(definition, plugin);
    return plugin;
  }

  const plugins: Plugins = {
    find(id) {
      const definition = definitions.plugin.get(id);
      if (definition === undefined) return filePlugins.get(id);
      return definition.content === null ? undefined : storedPlugin(definition);
    },
    all: () => [...new Set([...filePlugins.keys(), ...definitions.plugin.keys()])].flatMap((id) => plugins.find(id) ?? []),
  };

  const wanted: Wanted = {
    networks,
    plugins,
    learn(stored) {
      const touched = 'version' in stored ? learnAll(stored) : learnWritten(stored);
      for (const id of touched.networks) {
        const network = fileNetworks.get(id);
        if (network !== undefined) networks.put(networkFrom(network));
      }
      // A secret that cannot be opened is found here, not by a caller.
      for (const definition of definitions.plugin.values()) if (definition.content !== null) storedPlugin(definition);
      return touched;
    },
    signer(id) {
      const definition = definitions.signer.get(id);
      const pinned = definitions.pinned_key.get(id);
      const pin = pinned === undefined ? null : pinFrom(pinned);
      if (definition !== undefined)
        return definition.content === null
          ? undefined
          : { id, origin: `the stored signer ${id}`, source: definition, sealed: definition.sealed, pin };
      const entry = fileSigners.get(id);
      return entry && { id, origin: `signers[${config.signers.indexOf(entry)}]`, source: entry, sealed: null, pin };
    },
    relayer(id) {
      const definition = definitions.relayer.get(id);
      const entry = fileRelayers.get(id);
      const stored = definition === undefined || definition.content === null ? undefined : storedRelayer(definition);
      if (entry !== undefined && (definition === undefined || entry.policiesLocked)) {
        const network = networks.find(networkIdOf(entry.network)) ?? entry.network;
        const { paused = false, policiesVersion = entry.policiesVersion } = stored ?? {};
        return { ...entry, network, paused: entry.paused || paused, policiesVersion };
      }
      if (stored === undefined) return undefined;
      const { network: name, ...relayer } = stored;
      const network = networks.find(networkIdOf({ type: relayer.networkType, name }));
      return network && { ...relayer, network, policiesLocked: false };
    },
    originOf(relayerId) {
      const entry = fileRelayers.get(relayerId);
      return entry === undefined || (definitions.relayer.has(relayerId) && !entry.policiesLocked)
        ? `the stored relayer ${relayerId}`
        : `relayers[${config.relayers.indexOf(entry)}]`;
    },
    problemsOf(relayerIds) {
      return [...relayerIds].flatMap((id) => {
        const relayer = wanted.relayer(id);
        const definition = definitions.relayer.get(id);
        if (relayer === undefined) return definition === undefined || definition.content === null ? [] : [noNetwork(definition)];
        return wanted.signer(relayer.signerId) === undefined ? [noSigner(relayer)] : [];
      });
    },
    warnings: () => [
      ...[...definitions.network.values()].map(({ id }) =>
        lockedNetworks.has(id)
          ? `network ${id}: the RPC URLs set by the API are not used, because the policies of a relayer that uses the network are locked`
          : fileNetworks.has(id)
            ? keptSentence('network', id)
            : `network ${id}: the RPC URLs set by the API have no effect, because the configuration no longer has this network`,
      ),
      ...(['signer', 'relayer', 'plugin'] as const).flatMap((kind) =>
        config[`${kind}s`].flatMap(({ id }) => {
          const definition = definitions[kind].get(id);
          if (definition === undefined) return [];
          if (kind === 'relayer' && fileRelayers.get(id)?.policiesLocked)
            return [`relayer ${id} was changed by the API, but its policies are locked: only the pause is kept`];
          const isDeleted = definition.content === null;
          return [isDeleted ? `${kind} ${id} of the configuration file was deleted by the API and stays deleted` : keptSentence(kind, id)];
        }),
      ),
    ],
  };

  function noNetwork(definition: Definition): Problem {
    const { networkType, network } = storedRelayer(definition);
    const problem = `no ${networkType} network has the name ${JSON.stringify(network)}; it was removed from the file: restore it`;
    return { path: `the stored relayer ${definition.id}.network`, problem };
  }

  function noSigner({ id, signerId }: RelayerEntry): Problem {
    return { path: `${wanted.originOf(id)}.signer_id`, problem: goneSentence('signer', signerId) };
  }

  return wanted;
}

/** Why a reference to a signer or a notification leads nowhere. */
export function goneSentence(kind: 'signer' | 'notification', id: string): string {
  return `no ${kind} has the id ${JSON.stringify(id)}; it was deleted by the API or removed from the file: restore it, or, if the API deleted it, use another id`;
}

function byId<T extends { readonly id: string }>(entries: readonly T[]): ReadonlyMap<string, T> {
  return new Map(entries.map((entry) => [entry.id, entry]));
}

function keptSentence(kind: Definition['kind'], id: string): string {
  const what = kind === 'network' ? "the configuration file's RPC URLs are not used" : "the configuration file's entry is not used";
  return `${kind} ${id} was changed by the API and is kept; ${what}`;
}
