import type { Chain } from '../ports/chain.js';
import type { Signer } from '../ports/signer.js';
import type { ChangeableDirectory } from './create-directory.js';
import type { Network, RpcUrl } from './network.js';
import type { Relayer } from './relayer.js';

/** The relayers that run. Its methods are called one at a time. */
export interface RelayerRegistry {
  /** Takes a relayer into service. */
  start(relayer: Relayer, signer: Signer): Promise<void>;
  /**
   * Puts the relayer in place of the one of its id, which keeps account and chain; where its nodes are others, its lane goes over to them.
   * Whether it is disabled stays as it is: who watches its chain says that, at any time.
   */
  change(relayer: Relayer): Promise<void>;
  /** Takes a relayer out of service; it must have no open transaction. */
  stop(relayer: Relayer): Promise<void>;
}

/** Connections to chains: relayers that use the same nodes of a network share one. */
export interface Chains {
  /** The chain through these nodes, opened where nobody has it. Asks no node. To be released once for each time it was acquired. */
  acquire(network: Network, rpcUrls: readonly RpcUrl[]): Promise<Chain>;
  /** Closes it when nobody has it any more. */
  release(chain: Chain): Promise<void>;
}

/** What a registry works with. */
export interface RelayerRegistryDeps {
  readonly directory: ChangeableDirectory;
  readonly chains: Chains;
  readonly engine: {
    /** Opens the lane of a relayer, or takes it over to the chain that the directory has for it now. */
    open(relayer: Relayer): Promise<void>;
    /** Closes it. */
    close(relayer: Relayer): Promise<void>;
  };
}

/** Makes the registry of the relayers that the directory holds. */
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

/** The nodes that a relayer uses: its own where it has some, else its network's. */
export function nodesOf({ network, customRpcUrls }: Pick<Relayer, 'network' | 'customRpcUrls'>): readonly RpcUrl[] {
  return customRpcUrls.length > 0 ? customRpcUrls : network.rpcUrls;
}
