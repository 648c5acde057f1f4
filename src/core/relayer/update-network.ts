import type { DefinitionWriter } from '../definitions/definition-writer.js';
import { invalidField } from '../errors/errors.js';
import { getNetwork, type Networks } from '../network/networks.js';
import type { NodeUrlPolicy } from '../network/node-url-policy.js';
import { checkNodeUrls, type NodeUrlRules, sealedUrls, unmaskedUrls } from '../network/node-urls.js';
import type { Directory } from '../ports/directory.js';
import type { SecretBox } from '../ports/secret-box.js';
import type { Network, RpcUrl } from '../records/network.js';
import type { Exclusively } from '../work/one-at-a-time.js';
import { requireUnlockedNodes } from './policies-lock.js';

/** The dependencies of `updateNetwork`. */
export interface UpdateNetworkDeps {
  readonly secretBox: Pick<SecretBox, 'seal'>;
  readonly networks: Pick<Networks, 'find' | 'all'>;
  readonly directory: Pick<Directory, 'relayers'>;
  readonly exclusively: Exclusively;
  readonly writer: Pick<DefinitionWriter, 'commit'>;
  readonly nodeUrls: Pick<NodeUrlPolicy, 'problemOf'>;
}

/**
 * Replaces a network's RPC URLs. The configuration file's are no longer used. Relayers without RPC URLs of their own use the new ones at
 * once. A masked URL is one of its present ones. Calls no node. Throws `NETWORK_NOT_FOUND`, `FIELD_INVALID`, `POLICIES_LOCKED`.
 */
export function updateNetwork(deps: UpdateNetworkDeps, id: string, sent: readonly RpcUrl[]): Promise<Network> {
  const { secretBox, networks, directory, exclusively, writer, nodeUrls } = deps;
  return exclusively(async () => {
    const before = getNetwork(networks, id);
    const rpcUrls = newRpcUrls(before, sent, nodeUrls);
    if (rpcUrls.length === 0) throw invalidField('rpc_urls', 'must have at least one item');
    requireUnlockedNodes(directory.relayers(), id);
    const network: Network = { ...before, rpcUrls };
    const key = { kind: 'network', id } as const;
    await writer.commit([{ ...key, content: {}, sealed: sealedUrls(secretBox, key, rpcUrls) }], []);
    return network;
  });
}

/** Returns the RPC URLs that a caller asks for; a masked one is one of the network's. Throws `FIELD_INVALID`. */
export function newRpcUrls(
  before: Pick<Network, 'type' | 'rpcUrls'> | undefined,
  sent: readonly RpcUrl[],
  policy: NodeUrlRules['policy'],
): readonly RpcUrl[] {
  const rpcUrls = unmaskedUrls(sent, before?.rpcUrls ?? []);
  checkNodeUrls('rpc_urls', rpcUrls, { type: before?.type, policy });
  return rpcUrls;
}
