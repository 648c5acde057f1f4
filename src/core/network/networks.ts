import { DomainError } from '../errors/errors.js';
import type { Network } from '../records/network.js';
import { shownName } from '../text/safe-text.js';

/** The configured networks. */
export interface Networks {
  /** By `networkIdOf`. */
  find(id: string): Network | undefined;
  /** In the order of the configuration. */
  all(): readonly Network[];
  /** Replaces the network with the same id. */
  put(network: Network): void;
}

/** Returns the network's id for callers: type and name (`evm:sepolia`). */
export function networkIdOf({ type, name }: Pick<Network, 'type' | 'name'>): string {
  return `${type}:${name}`;
}

/** Creates the collection. */
export function createNetworks(networks: readonly Network[]): Networks {
  const byId = new Map(networks.map((network) => [networkIdOf(network), network]));
  return {
    find: (id) => byId.get(id),
    all: () => [...byId.values()],
    put: (network) => void byId.set(networkIdOf(network), network),
  };
}

/** Returns the network with this id. Throws `NETWORK_NOT_FOUND`. */
export function getNetwork(networks: Pick<Networks, 'find'>, id: string): Network {
  const network = networks.find(id);
  if (network !== undefined) return network;
  throw new DomainError('not_found', 'NETWORK_NOT_FOUND', `Network with ID ${shownName(id)} not found`, {
    metadata: { network_id: shownName(id) },
  });
}
