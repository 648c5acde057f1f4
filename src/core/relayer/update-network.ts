import type { DefinitionWriter } from '../definitions/definition-writer.js';
import { invalidField } from '../errors/errors.js';
import { getNetwork, type Networks } from '../network/networks.js';
import type { NodeUrlPolicy } from '../network/node-url-policy.js';
import { checkNodeUrls, sealedUrls } from '../network/node-urls.js';
import type { SecretBox } from '../ports/secret-box.js';
import type { Network, RpcUrl } from '../records/network.js';
import type { Exclusively } from '../work/one-at-a-time.js';

/** The dependencies of `updateNetwork`. */
export interface UpdateNetworkDeps {
  readonly secretBox: Pick<SecretBox, 'seal'>;
  readonly networks: Pick<Networks, 'find' | 'all'>;
  readonly exclusively: Exclusively;
  readonly writer: Pick<DefinitionWriter, 'commit'>;
  readonly nodeUrls: Pick<NodeUrlPolicy, 'problemOf'>;
}

/**
 * Replaces a network's RPC URLs. The configuration file's are no longer used. Relayers without RPC URLs of their own use the new ones at
 * once. Calls no node. Throws `NETWORK_NOT_FOUND`, `FIELD_INVALID`.
 */
export function updateNetwork(deps: UpdateNetworkDeps, id: string, rpcUrls: readonly RpcUrl[]): Promise<Network> {
  const { secretBox, networks, exclusively, writer, nodeUrls } = deps;
  return exclusively(async () => {
    const before = getNetwork(networks, id);
    if (rpcUrls.length === 0) throw invalidField('rpc_urls', 'must have at least one item');
    checkNodeUrls('rpc_urls', rpcUrls, { type: before.type, policy: nodeUrls });
    const network: Network = { ...before, rpcUrls };
    const key = { kind: 'network', id } as const;
    await writer.commit([{ ...key, content: {}, sealed: sealedUrls(secretBox, key, rpcUrls) }], []);
    return network;
  });
}
