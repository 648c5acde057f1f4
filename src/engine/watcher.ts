import type { Chain, Head } from '../core/ports/chain.js';
import type { Directory } from '../core/ports/directory.js';
import type { Log } from '../core/ports/log.js';
import type { Store } from '../core/ports/store.js';
import { chainKeyOf } from '../core/relayer/network.js';
import type { Relayer } from '../core/relayer/relayer.js';

/** How a network stands, for readiness. */
export interface NetworkHealth {
  readonly network: string;
  /** The newest block that was seen; null: none yet. */
  readonly head: Head | null;
  /** Why no node can be asked; null: one can. */
  readonly problem: string | null;
}

/** Looks at one chain's head again and again. */
export interface Watcher {
  start(): void;
  stop(): Promise<void>;
  health(): NetworkHealth;
}

/** What a watcher works with. */
export interface WatcherDeps {
  readonly chain: Chain;
  /** The relayers on this chain. */
  readonly relayers: readonly Relayer[];
  readonly store: Store;
  readonly directory: Directory;
  readonly log: Log;
  /** Called at each look that succeeded, with the newest head. */
  readonly onTick: (head: Head) => void;
}

/**
 * Makes the watcher of one chain. Before its first look it remembers the chain's genesis block, and from then on only nodes that have it are asked: where
 * all have another one, the relayers are taken out of service.
 */
export function createWatcher(deps: WatcherDeps): Watcher {
  const { chain, log } = deps;
  const { network } = chain;
  // Four looks a block see it soon enough; slower than every 4 s helps nobody, faster than every 100 ms costs. Solana's blocks are so quick that one
  // look at each is enough, and its public nodes let nobody call much more often.
  const looksPerBlock = network.type === 'solana' ? 1 : 4;
  const intervalMs = Math.min(4_000, Math.max(100, network.averageBlockTimeMs / looksPerBlock));
  let head: Head | null = null;
  let problem: string | null = null;
  let isRemembered = false;
  let isDisabled = false;
  let running: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  async function look(): Promise<void> {
    try {
      if (!isRemembered) await rememberGenesis();
      head = await chain.head();
      if (problem !== null) log.info({ network: network.name }, "the network's nodes answer again");
      problem = null;
      deps.onTick(head);
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error);
      if (problem !== detail) log.warn({ network: network.name, detail }, 'the network cannot be watched now');
      problem = detail;
      disableIfOtherChain();
    }
    if (!stopped) timer = setTimeout(() => (running = look()), intervalMs);
  }

  /** Makes sure that only the remembered chain is ever asked; at the very first look, remembers it. */
  async function rememberGenesis(): Promise<void> {
    const key = chainKeyOf(network);
    const remembered = await deps.store.read.genesisHash(key);
    const genesis = remembered ?? (await chain.genesisHash());
    if (remembered === undefined) await deps.store.commit([deps.store.change.insertChain(key, genesis)]);
    chain.expectGenesis(genesis);
    isRemembered = true;
  }

  /** Behind another genesis block the same nonces mean something else. */
  function disableIfOtherChain(): void {
    const foreign = chain.foreignGenesis();
    if (foreign === null || isDisabled) return;
    isDisabled = true;
    log.error({ network: network.name, genesis: foreign }, 'the network is another chain than before; its relayers are disabled');
    const reason = `this is another chain: the genesis block of its network is now ${foreign}`;
    for (const relayer of deps.relayers) deps.directory.disable(relayer.id, reason);
  }

  return {
    start() {
      running = look();
    },
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
    health: () => ({ network: network.name, head, problem }),
  };
}
