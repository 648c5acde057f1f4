import { createSolanaChain, type SolanaChain, type SolanaChainOptions } from './chain.js';
import { createFaucet, type Faucet } from './faucet.js';
import { type SolanaNode, startSolanaNode } from './node.js';

/** The options of a cluster. */
export interface SolanaOptions extends SolanaChainOptions {
  /** The port of the first node; 0 or absent for a free port. */
  readonly port?: number;
  /** Milliseconds between blocks; if absent, only `chain.advance` makes blocks. */
  readonly slotMs?: number;
  /** Actions by GET path of the first node; each answers with its text. */
  readonly commands?: Readonly<Record<string, () => Promise<string>>>;
}

/** A local Solana cluster: one chain and its nodes. */
export interface LocalSolana {
  readonly chain: SolanaChain;
  /** The first node. */
  readonly node: SolanaNode;
  /** The URL of the first node. */
  readonly url: string;
  readonly faucet: Faucet;
  /** Starts another node of the cluster with its own condition and faults. */
  addNode(port?: number): Promise<SolanaNode>;
  stop(): Promise<void>;
}

/**
 * Starts a local Solana: the real runtime (litesvm) behind JSON-RPC of our own.
 *
 * Real: execution, fees, signatures, failures and their logs, rent, lookup tables. Made here: blocks on command or on a timer, blockhashes
 * that die after 150 blocks, the three commitments, the pool of what was sent and has not landed, retries of the node, forks, health,
 * history, preflight, error codes and texts.
 *
 * README.md lists what differs from a real cluster.
 */
export async function startSolana({ port, slotMs, commands, ...options }: SolanaOptions = {}): Promise<LocalSolana> {
  const chain = createSolanaChain(options);
  const faucet = await createFaucet(chain);
  const node = await startSolanaNode({
    chain,
    airdrop: faucet,
    ...(port === undefined ? {} : { port }),
    ...(commands === undefined ? {} : { commands }),
  });
  const nodes = [node];
  const timer = slotMs === undefined ? undefined : setInterval(() => chain.advance(), slotMs);
  return {
    chain,
    node,
    url: node.url,
    faucet,
    async addNode(ofPort = 0) {
      const added = await startSolanaNode({ chain, airdrop: faucet, port: ofPort });
      nodes.push(added);
      return added;
    },
    async stop() {
      clearInterval(timer);
      await Promise.all(nodes.map((each) => each.stop()));
    },
  };
}
