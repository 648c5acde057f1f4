import type { Head } from '../../core/ports/chain/head.js';
import type { Network } from '../../core/records/network.js';
import type { DurationClock } from '../../core/work/clock.js';
import type { Log } from '../../core/work/log.js';

/** Whether the head of a network moves. */
export interface Stillness {
  /** Takes note of the newest head, new or not. */
  see(head: Head): void;
  /** When the newest head was first seen, if none came for long; null: the head moves, or none was seen. */
  sinceMs(): number | null;
}

/** A network stands still if it shows no other head for this time, and for this number of block times. */
const still = { ms: 60_000, blocks: 20 };

/** Creates the stillness of a network whose head was not seen yet. */
export function createStillness(clock: DurationClock, { averageBlockTimeMs }: Pick<Network, 'averageBlockTimeMs'>): Stillness {
  const longestMs = Math.max(still.ms, still.blocks * averageBlockTimeMs);
  let newest: { readonly hash: string; readonly firstSeenMs: number; readonly elapsedMs: number } | null = null;
  let seenMs = 0;
  return {
    see({ hash }) {
      seenMs = clock.elapsedMs();
      if (newest?.hash !== hash) newest = { hash, firstSeenMs: clock.nowMs(), elapsedMs: seenMs };
    },
    // Counted up to the last look: while no RPC node is reachable, nothing is known about the head.
    sinceMs: () => (newest !== null && seenMs - newest.elapsedMs >= longestMs ? newest.firstSeenMs : null),
  };
}

/** Creates the same, and logs when the network begins to stand still and when it moves again. */
export function createLoggedStillness(clock: DurationClock, network: Pick<Network, 'averageBlockTimeMs' | 'name'>, log: Log): Stillness {
  const stillness = createStillness(clock, network);
  let wasStill = false;
  return {
    see(head) {
      stillness.see(head);
      const sinceMs = stillness.sinceMs();
      const facts = { network: network.name, block: head.number.toString() };
      if (sinceMs !== null && !wasStill) log.warn(facts, stillSentence(network.name, sinceMs));
      if (sinceMs === null && wasStill) log.info(facts, 'the network shows new blocks again');
      wasStill = sinceMs !== null;
    },
    sinceMs: stillness.sinceMs,
  };
}

/** Describes since when a network shows no other block. */
export function stillSentence(network: string, sinceMs: number): string {
  return `the network ${network} shows no new block since ${new Date(sinceMs).toISOString()}`;
}

/** Why nothing of a lane is mined, if its network stands still; null: it moves. */
export function whyStill({ heads, chain }: StillLane): string | null {
  return heads.stillSinceMs === null ? null : `waiting: ${stillSentence(chain.network.name, heads.stillSinceMs)}`;
}

interface StillLane {
  readonly heads: { readonly stillSinceMs: number | null };
  readonly chain: { readonly network: Pick<Network, 'name'> };
}
