import type { buildConnector } from 'undici';
import type { RpcOptions } from '../chains/rpc/endpoint.js';
import { networkIdOf } from '../core/network/networks.js';
import type { NodeUrlPolicy } from '../core/network/node-url-policy.js';
import type { Chain } from '../core/ports/chain/chain.js';
import type { Meter, Telemetry } from '../core/ports/telemetry.js';
import type { Network, RpcUrl } from '../core/records/network.js';
import type { Log } from '../core/work/log.js';
import { createGuardedConnector } from '../webhooks/target-guard.js';
import type { AppContext } from './app-context.js';
import type { Chains } from './reconcile.js';

/** Options that every chain is opened with. */
interface OpenChainsOptions {
  readonly rpcTimeoutMs: number;
  /** The maximum fee of a transaction on an EVM network; null: none, undefined: the default of the network. */
  readonly maxFeeWei: bigint | null | undefined;
  readonly connectorFor?: RpcOptions['connectorFor'];
  readonly log: Log;
  readonly telemetry: Telemetry;
}

interface Shared {
  readonly chain: Promise<Chain>;
  users: number;
}

/** Opens chains on demand. Relayers that use the same nodes of a network share one. */
export function openChains({ settings, log, telemetry, onStop }: AppContext, nodeUrls: NodeUrlPolicy): Chains {
  const options: OpenChainsOptions = {
    rpcTimeoutMs: settings.rpcTimeoutMs,
    maxFeeWei: settings.maxFeePerTransaction,
    log,
    telemetry: { ...telemetry, meter: withKnownHosts(telemetry.meter, nodeUrls) },
    connectorFor: guardedConnectorFor(nodeUrls, settings.rpcTimeoutMs),
  };
  const byKey = new Map<string, Shared>();
  const keyOf = new Map<Chain, string>();
  onStop('nodes', async () => {
    await Promise.all([...byKey.values()].map(async ({ chain }) => (await chain).close()));
  });

  return {
    async acquire(network, rpcUrls) {
      const key = JSON.stringify([networkIdOf(network), rpcUrls]);
      const shared = byKey.get(key) ?? { chain: openChain(network, rpcUrls, options), users: 0 };
      byKey.set(key, shared);
      shared.users += 1;
      const chain = await shared.chain.catch((error: unknown) => {
        byKey.delete(key);
        throw error;
      });
      keyOf.set(chain, key);
      return chain;
    },
    async release(chain) {
      const key = keyOf.get(chain);
      const shared = key === undefined ? undefined : byKey.get(key);
      if (key === undefined || shared === undefined) throw new Error('this chain is not open');
      shared.users -= 1;
      if (shared.users > 0) return;
      byKey.delete(key);
      keyOf.delete(chain);
      await chain.close();
    },
  };
}

/** Each library costs start-up time and memory. */
const libraries = {
  evm: () => import('../chains/evm/evm-chain.js'),
  stellar: () => import('../chains/stellar/stellar-chain.js'),
  solana: () => import('../chains/solana/solana-chain.js'),
} as const;

/** Opens the chain of a network. Loads only the library that it needs. */
async function openChain(network: Network, rpcUrls: readonly RpcUrl[], options: OpenChainsOptions): Promise<Chain> {
  const { maxFeeWei, ...others } = options;
  const shared = { rpcUrls, ...others };
  if (network.type === 'evm') return (await libraries.evm()).createEvmChain({ network, maxFeeWei, ...shared });
  if (network.type === 'stellar') return (await libraries.stellar()).createStellarChain({ network, ...shared });
  return (await libraries.solana()).createSolanaChain({ network, ...shared });
}

/** Counts nodes that callers named by API as one. */
function withKnownHosts(meter: Meter, nodeUrls: NodeUrlPolicy): Meter {
  return {
    ...meter,
    nodeAsked: (network, host, ...rest) => meter.nodeAsked(network, nodeUrls.isConfiguredHost(host) ? host : 'set by API', ...rest),
  };
}

/** Guards the connections to URLs of RPC nodes and plugins that callers set through the API, like the connections to webhooks. */
export function guardedConnectorFor(
  nodeUrls: Pick<NodeUrlPolicy, 'allowedHosts' | 'blockPrivate' | 'isConfigured'>,
  timeoutMs: number,
): (url: string) => buildConnector.connector | undefined {
  const { allowedHosts, blockPrivate } = nodeUrls;
  if (allowedHosts.size === 0 && !blockPrivate) return () => undefined;
  const connector = createGuardedConnector({ allowPrivateTargets: !blockPrivate, allowedHosts, timeoutMs });
  return (url) => (nodeUrls.isConfigured(url) ? undefined : connector);
}
