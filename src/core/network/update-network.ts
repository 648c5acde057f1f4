import { invalidField } from '../errors.js';
import type { Exclusively } from '../exclusively.js';
import type { Directory } from '../ports/directory.js';
import type { SecretBox } from '../ports/secret-box.js';
import type { Store } from '../ports/store.js';
import type { Network, RpcUrl } from '../relayer/network.js';
import type { RelayerRegistry } from '../relayer/relayer-registry.js';
import { getNetwork, type Networks, networkIdOf } from './networks.js';
import { checkNodeUrls, sealedUrls } from './node-urls.js';

/** What changing a network works with. */
export interface UpdateNetworkDeps {
  readonly store: Pick<Store, 'change' | 'commit'>;
  readonly secretBox: Pick<SecretBox, 'seal'>;
  readonly networks: Networks;
  readonly directory: Pick<Directory, 'relayers'>;
  readonly registry: Pick<RelayerRegistry, 'change'>;
  readonly exclusively: Exclusively;
}

/**
 * Replaces the nodes of a network, for good: the configuration file's are not used from then on. Relayers without nodes of their own go
 * over to the new ones at once; no node is asked before. Throws `NETWORK_NOT_FOUND`, `FIELD_INVALID`.
 */
export function updateNetwork(deps: UpdateNetworkDeps, id: string, rpcUrls: readonly RpcUrl[]): Promise<Network> {
  const { store, secretBox, networks, directory, registry, exclusively } = deps;
  return exclusively(async () => {
    const before = getNetwork(networks, id);
    if (rpcUrls.length === 0) throw invalidField('rpc_urls', 'must have at least one item');
    checkNodeUrls('rpc_urls', rpcUrls);
    const network: Network = { ...before, rpcUrls };
    const key = { kind: 'network', id } as const;
    await store.commit([store.change.putDefinition({ ...key, content: {}, sealed: sealedUrls(secretBox, key, rpcUrls) })]);
    networks.put(network);
    for (const relayer of directory.relayers()) {
      if (networkIdOf(relayer.network) === id) await registry.change({ ...relayer, network });
    }
    return network;
  });
}
