import type { Chain } from '../ports/chain.js';
import type { Signer } from '../ports/signer.js';
import type { Network, RpcUrl } from '../records/network.js';
import type { Relayer } from '../records/relayer.js';
import type { ChangeableDirectory } from './create-directory.js';

/** Starts and stops relayers. Call its methods one at a time. */
export interface RelayerRegistry {
  /** Starts a relayer. */
  start(relayer: Relayer, signer: Signer): Promise<void>;
  /**
   * Replaces the relayer with the same id, account and chain. If its RPC URLs differ, its lane moves to them. `disabledReason` stays, because
   * only the chain's watcher sets it, at any time.
   */
  change(relayer: Relayer): Promise<void>;
  /** Stops a relayer; it must have no open transaction. */
  stop(relayer: Relayer): Promise<void>;
}

/** Connections to chains. Relayers with the same RPC URLs share one. */
export interface Chains {
  /** Returns the chain behind these RPC URLs, opening it if needed. Calls no node. Release it once for each time it was acquired. */
  acquire(network: Network, rpcUrls: readonly RpcUrl[]): Promise<Chain>;
  /** Closes the chain after its last release. */
  release(chain: Chain): Promise<void>;
}

/** The dependencies of the registry. */
export interface RelayerRegistryDeps {
  readonly directory: ChangeableDirectory;
  readonly chains: Chains;
  readonly engine: {
    /** Opens the lane of a relayer, or moves it to the chain that the directory now has for it. */
    open(relayer: Relayer): Promise<void>;
    /** Closes the lane. */
    close(relayer: Relayer): Promise<void>;
  };
}

/** Creates the registry of the relayers in the directory. */
export function createRelayerRegistry({ directory, chains, engine }: RelayerRegistryDeps): RelayerRegistry {
  return {
    async start(relayer, signer) {
      directory.put({ relayer, signer, chain: await chains.acquire(relayer.network, nodesOf(relayer)) });
      await engine.open(relayer);
    },
    async change(relayer) {
      const chain = directory.chainOf(relayer);
      const signer = directory.signerOf(relayer);
      const next = await chains.acquire(relayer.network, nodesOf(relayer));
      const { disabledReason } = directory.relayer(relayer.id) ?? relayer;
      directory.put({ relayer: { ...relayer, disabledReason }, signer, chain: next });
      if (next === chain) {
        await chains.release(next);
        return;
      }
      await engine.open(relayer);
      await chains.release(chain);
    },
    async stop(relayer) {
      const chain = directory.chainOf(relayer);
      await engine.close(relayer);
      directory.remove(relayer.id);
      await chains.release(chain);
    },
  };
}

/** Returns the RPC URLs that a relayer uses: its own if it has any, else its network's. */
export function nodesOf({ network, customRpcUrls }: Pick<Relayer, 'network' | 'customRpcUrls'>): readonly RpcUrl[] {
  return customRpcUrls.length > 0 ? customRpcUrls : network.rpcUrls;
}
