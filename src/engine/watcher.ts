import type { Chain, Head } from '../core/ports/chain.js';
import type { Directory } from '../core/ports/directory.js';
import type { Log } from '../core/ports/log.js';
import type { RecordRelayerState, RelayerStateEvent } from '../core/ports/record-event.js';
import type { Store } from '../core/ports/store.js';
import { chainKeyOf } from '../core/relayer/network.js';

/** How a network stands, for readiness. */
export interface NetworkHealth {
  readonly network: string;
  /** The newest block that was seen; null: none yet. */
  readonly head: Head | null;
  /** Why no node can be asked; null: one can. */
  readonly problem: string | null;
}

/** A relayer on the chain, and its lane. */
export interface Watched {
  readonly relayerId: string;
  readonly lane: {
    /** Called at each look that succeeded, with the newest head. */
    tick(head: Head): void;
  };
}

/** Looks at one chain's head again and again. */
export interface Watcher {
  /** A relayer that comes later stands as the chain does. */
  add(watched: Watched): void;
  /** The number of those that are left. */
  remove(lane: Watched['lane']): number;
  start(): void;
  stop(): Promise<void>;
  health(): NetworkHealth;
}

/** What a watcher works with. */
export interface WatcherDeps {
  readonly chain: Chain;
  readonly store: Store;
  readonly directory: Directory;
  readonly recordRelayerState: RecordRelayerState;
  readonly log: Log;
}

/**
 * Makes the watcher of one chain. Before its first look it remembers the chain's genesis block, and from then on only nodes that have it
 * are asked: where all have another one, the relayers are taken out of service, until a node of the remembered chain answers again.
 */
export function createWatcher({ chain, store, directory, recordRelayerState, log }: WatcherDeps): Watcher {
  const { network } = chain;
  // Four looks a block see it soon enough; slower than every 4 s helps nobody, faster than every 100 ms costs. Solana's blocks are so quick
  // that one
  // look at each is enough, and its public nodes let nobody call much more often.
  const looksPerBlock = network.type === 'solana' ? 1 : 4;
  const intervalMs = Math.min(4_000, Math.max(100, network.averageBlockTimeMs / looksPerBlock));
  let members: readonly Watched[] = [];
  let head: Head | null = null;
  let problem: string | null = null;
  let isRemembered = false;
  let disabledReason: string | null = null;
  let running: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  async function look(): Promise<void> {
    try {
      if (!isRemembered) await rememberGenesis();
      head = await chain.head();
      if (problem !== null) log.info({ network: network.name }, "the network's nodes answer again");
      problem = null;
      if (disabledReason !== null) await enableAgain();
      for (const { lane } of members) lane.tick(head);
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error);
      if (problem !== detail) log.warn({ network: network.name, detail }, 'the network cannot be watched now');
      problem = detail;
      await disableIfOtherChain();
    }
    if (!stopped) timer = setTimeout(() => (running = look()), intervalMs);
  }

  /** Makes sure that only the remembered chain is ever asked; at the very first look, remembers it. */
  async function rememberGenesis(): Promise<void> {
    const key = chainKeyOf(network);
    const remembered = await store.read.genesisHash(key);
    const genesis = remembered ?? (await chain.genesisHash());
    if (remembered === undefined) await store.commit([store.change.insertChain(key, genesis)]);
    chain.expectGenesis(genesis);
    isRemembered = true;
  }

  /** Behind another genesis block the same nonces mean something else. */
  async function disableIfOtherChain(): Promise<void> {
    const foreign = chain.foreignGenesis();
    if (foreign === null || disabledReason !== null) return;
    disabledReason = `this is another chain: the genesis block of its network is now ${foreign}`;
    log.error({ network: network.name, genesis: foreign }, 'the network is another chain than before; its relayers are disabled');
    await mark('relayer_disabled');
  }

  /** Only a node of the remembered chain tells a head. */
  async function enableAgain(): Promise<void> {
    disabledReason = null;
    log.info({ network: network.name }, 'the network is the chain that it was; its relayers are enabled');
    await mark('relayer_enabled');
  }

  /** The directory first: what must not be signed must not wait for a commit. */
  async function mark(event: RelayerStateEvent): Promise<void> {
    for (const { relayerId } of members) directory.setDisabled(relayerId, disabledReason);
    const relayers = members.flatMap(({ relayerId }) => directory.relayer(relayerId) ?? []);
    const changes = relayers.flatMap((relayer) => recordRelayerState(relayer, event));
    if (changes.length === 0) return;
    await store.commit(changes).catch((error: unknown) => log.error({ network: network.name, err: error }, `${event} cannot be told`));
  }

  return {
    add(watched) {
      members = [...members, watched];
      directory.setDisabled(watched.relayerId, disabledReason);
    },
    remove(lane) {
      members = members.filter((member) => member.lane !== lane);
      return members.length;
    },
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
