import { setImmediate as nextTurn } from 'node:timers/promises';
import { DomainError } from '../core/errors/errors.js';
import type { Chain } from '../core/ports/chain/chain.js';
import type { Head } from '../core/ports/chain/head.js';
import type { Directory } from '../core/ports/directory.js';
import type { RecordRelayerState } from '../core/ports/record-event.js';
import type { LaneChanges, LaneReads } from '../core/ports/store/lanes.js';
import type { StoreFor } from '../core/ports/store/store.js';
import { markRelayers } from '../core/relayer/mark-relayers.js';
import type { DurationClock } from '../core/work/clock.js';
import type { Log } from '../core/work/log.js';
import { type Repeating, repeat } from '../core/work/repeat.js';
import type { Timers } from '../core/work/timers.js';
import { createLoggedStillness } from './lane/stillness.js';
import { createRememberedChain } from './remember-chain.js';

/** The state of a network, for readiness. */
export interface NetworkHealth {
  readonly network: string;
  readonly chain: Chain;
  /** The newest block seen; null: none yet. */
  readonly head: Head | null;
  /** Why no RPC node can be used, as callers may read it; null: one answers. */
  readonly problem: string | null;
  /** The hosts of RPC endpoints that are left out because they are on another branch of the chain. */
  readonly forkedHosts: readonly string[];
  /** See `Stillness.sinceMs`. */
  readonly stillSinceMs: number | null;
}

/** A relayer on the chain. */
export interface Watched {
  readonly relayerId: string;
  /** True if this instance reports what happens to the relayer: another one may have its lane. */
  isReported(): boolean;
}

/** A lane that follows the chain. */
export interface HeadListener {
  /** Called with the newest head each time it was read. */
  tick(head: Head): void;
  /** Called when no RPC node could be used. */
  unreachable(): void;
  /** True while it does nothing at new heads. */
  isResting(): boolean;
}

/**
 * Polls the head of one chain: four times per block while a lane has something to do, otherwise about once, since providers charge for
 * requests.
 */
export interface Watcher {
  /** A relayer that is added later is disabled if the chain is. */
  add(watched: Watched): void;
  /** Returns how many relayers are left. */
  remove(relayerId: string): number;
  /** Calls the lane from now on, with the newest head as soon as possible: the next one may come only seconds later. */
  listen(lane: HeadListener): void;
  /** A lane has something to do again. Returns true if a newer head comes at once: if the known one may be older than usual, this polls. */
  wake(): boolean;
  stopListening(lane: HeadListener): void;
  /** Does nothing if it polls already. */
  start(): void;
  stop(): Promise<void>;
  health(): NetworkHealth;
}

/** The parts that make a watcher. */
export interface WatcherDeps {
  readonly chain: Chain;
  readonly store: StoreFor<LaneReads, LaneChanges>;
  readonly directory: Directory;
  readonly recordRelayerState: RecordRelayerState;
  readonly timers: Timers;
  readonly clock: DurationClock;
  readonly log: Log;
}

/** Nodes that announce heads make the watcher poll at most this often. */
const announcedPollsMs = 200;

/** How many lanes get a head in one turn of the event loop: all of them may have work then, such as after the start. */
const lanesPerTurn = 50;

/**
 * Makes the watcher of one chain. As soon as most nodes show the same genesis block it stores that, and from then on uses only nodes that
 * have it.
 * If every node has another genesis block, the relayers are disabled until a node of the stored chain answers again.
 */
export function createWatcher({ chain, store, directory, recordRelayerState, timers, clock, log }: WatcherDeps): Watcher {
  const { network } = chain;
  const remembered = createRememberedChain(chain, store, clock, log);
  const stillness = createLoggedStillness(clock, network, log);
  // Four polls per block are soon enough, but not more than one per 100 ms and not less than one per 4 s. Solana's blocks are so fast that
  // one poll each is enough, and its public nodes limit the rate.
  const pollsPerBlock = network.type === 'solana' ? 1 : 4;
  const intervalMs = Math.min(4_000, Math.max(100, network.averageBlockTimeMs / pollsPerBlock));
  const restingIntervalMs = Math.min(15_000, Math.max(1_000, network.averageBlockTimeMs));
  const members = new Map<string, Watched>();
  const pace = createPace(timers, Math.min(intervalMs, announcedPollsMs));
  /** Only the lanes that are open: thousands of relayers may have nothing to do. */
  const listeners = new Set<HeadListener>();
  let head: Head | null = null;
  let problem: { readonly detail: string; readonly shown: string } | null = null;
  let disabledReason: string | null = null;
  /** Null before the start and after the stop. */
  let polling: Repeating | null = null;
  /** For how long the next poll was put off because every lane rested. */
  let restedMs = 0;
  /** Until the newest head is known. */
  let isReading = false;
  /** A lane waits for the next poll. */
  let isWanted = true;

  const pauseMs = (): number => Math.min(intervalMs, restingIntervalMs - restedMs);

  /** Polls, or puts the poll off while every lane rests. */
  async function pollUnlessResting(): Promise<void> {
    const pausedMs = pauseMs();
    if (!isWanted && problem === null && restedMs + pausedMs < restingIntervalMs && areAllResting()) restedMs += pausedMs;
    else await poll();
  }

  async function poll(): Promise<void> {
    restedMs = 0;
    isWanted = false;
    try {
      isReading = true;
      await remembered.look();
      head = await chain.head();
      isReading = false;
      stillness.see(head);
      if (problem !== null) log.info({ network: network.name }, 'an RPC node of the network answers again');
      problem = null;
      if (disabledReason !== null) await enableAgain();
      await tickAll(listeners, head);
    } catch (error) {
      isReading = false;
      const detail = error instanceof Error ? error.message : String(error);
      if (problem?.detail !== detail) log.warn({ network: network.name, detail }, 'no RPC node of the network is usable');
      // Other errors may name what is no business of callers, such as the database.
      problem = { detail, shown: error instanceof DomainError ? detail : 'the head of the network cannot be read' };
      await disableIfOtherChain();
      for (const lane of listeners) lane.unreachable();
    }
  }

  function areAllResting(): boolean {
    for (const lane of listeners) if (!lane.isResting()) return false;
    return true;
  }

  function wake(): boolean {
    if (isReading) return true;
    if (restedMs === 0 || polling === null) return false;
    isWanted = true;
    polling.wake();
    return true;
  }

  /** A node announces heads: they are only a hint to poll, so that one that announces none, or too many, changes nothing else. */
  function noteAnnounced(): void {
    if (polling !== null && !areAllResting() && pace.isDue()) polling.wake();
  }

  /** On another chain the same nonces mean something else. */
  async function disableIfOtherChain(): Promise<void> {
    const foreign = chain.foreignGenesis();
    if (foreign === null || disabledReason !== null) return;
    disabledReason = `the RPC nodes serve a different chain: the genesis block is now ${foreign}, not ${remembered.genesis()}; nothing is sent until they serve the earlier chain again`;
    log.error(
      { network: network.name, genesis: foreign, expected: remembered.genesis() },
      'the RPC nodes serve a different chain than before; the relayers of this network are disabled',
    );
    await mark(disabledReason);
  }

  /** Only a node of the stored chain returns a head. */
  async function enableAgain(): Promise<void> {
    disabledReason = null;
    log.info({ network: network.name }, 'the RPC nodes serve the stored chain again; the relayers of this network are enabled');
    await mark(null);
  }

  function mark(reason: string | null): Promise<void> {
    const reported = [...members.values()].filter((member) => member.isReported()).map(({ relayerId }) => relayerId);
    return markRelayers({ store, directory, recordRelayerState }, log, [...members.keys()], reason, reported);
  }

  return {
    add(watched) {
      members.set(watched.relayerId, watched);
      directory.setDisabled(watched.relayerId, disabledReason);
    },
    remove(relayerId) {
      members.delete(relayerId);
      return members.size;
    },
    listen(lane) {
      listeners.add(lane);
      if (!wake() && head !== null) lane.tick(head);
    },
    wake,
    stopListening: (lane) => void listeners.delete(lane),
    start() {
      chain.onNewHead?.(noteAnnounced);
      const onError = (error: unknown) => log.error({ err: error, network: network.name }, 'the network cannot be followed; retrying');
      polling ??= repeat(pollUnlessResting, pauseMs, { onError, timers });
    },
    async stop() {
      const stopped = polling?.stop();
      polling = null;
      pace.stop();

      await stopped;
    },
    health: () => ({
      network: network.name,
      chain,
      head,
      problem: problem?.shown ?? null,
      forkedHosts: chain.forkedHosts(),
      stillSinceMs: stillness.sinceMs(),
    }),
  };
}

/** Calls the lanes, some in each turn of the event loop. */
async function tickAll(listeners: ReadonlySet<HeadListener>, newest: Head): Promise<void> {
  const working: HeadListener[] = [];
  // Resting ones do nothing now, but one that wakes during a later turn must know that the head is new.
  for (const lane of listeners) {
    if (lane.isResting()) lane.tick(newest);
    else working.push(lane);
  }
  let count = 0;
  for (const lane of working) {
    if (!listeners.has(lane)) continue;
    if (count > 0 && count % lanesPerTurn === 0) await nextTurn();
    count += 1;
    lane.tick(newest);
  }
}

/** Says yes at most once in this time. */
function createPace(timers: Timers, gapMs: number): { isDue(): boolean; stop(): void } {
  let cancel: (() => void) | null = null;
  return {
    isDue() {
      if (cancel !== null) return false;
      cancel = timers.after(gapMs, () => {
        cancel = null;
      });
      return true;
    },
    stop: () => cancel?.(),
  };
}
