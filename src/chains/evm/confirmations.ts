import type { Head } from '../../core/ports/chain/head.js';
import { min } from '../../core/records/bigints.js';
import type { EvmNetwork } from '../../core/records/network.js';
import type { DurationClock } from '../../core/work/clock.js';
import { isOver, type Lasting, lasted, seenAt } from '../../core/work/patience.js';
import { propagationBlocks } from '../rpc/lag-tracker.js';
import type { Rpc } from '../rpc/rpc.js';
import type { Block } from './answer.js';
import { type Branch, maxDepth } from './branch.js';
import { questions } from './questions.js';

/** Finds out which blocks have their confirmations. */
export interface Confirmations {
  /** See `Sequence.finalBlock`. */
  finalBlock(head: Head, required: number): Promise<bigint | null>;
  /** See `Sequence.isDisputed`. */
  isDisputed(): boolean;
}

/** The dependencies of confirmations. */
export interface ConfirmationsDeps {
  readonly rpc: Rpc;
  readonly branch: Branch;
  readonly network: EvmNetwork;
  /** True if more than one RPC URL is used. */
  readonly hasOthers: boolean;
  readonly clock: DurationClock;
}

/** At most this number of confirmations is proved one by one; the others follow from the block number. */
const maxLinked = 64n;
/** While no other endpoint follows the chain, the blocks of one endpoint count after this number of heads and this long. */
const aloneFor = { heads: 8, ms: 60_000 };
/** An endpoint whose newest block is not older than this follows the chain, at any number. */
const recentMs = 300_000;
/** Some networks have numbers without a block. If blocks were never linked for this long, the network is one of them. */
const unlinkedForMs = 600_000;

/**
 * Creates the rule for confirmations. A block number alone proves nothing, since an endpoint can claim blocks that do not exist. Parent
 * hashes must lead from the head to the block; and if there is another endpoint, it must show the same blocks, but for the newest one,
 * which it may get a moment later.
 */
export function createConfirmations({ rpc, branch, network, hasOthers, clock }: ConfirmationsDeps): Confirmations {
  const distances = distancesFrom(propagationBlocks(network.averageBlockTimeMs));
  /** The highest block that another endpoint was seen to share. */
  let shared: { readonly number: bigint; readonly hash: string } | null = null;
  /**
   * Since when no other endpoint has followed the chain, and the heads since then. `other`: the newest block that one of them showed; null:
   * none did.
   */
  let alone: (Lasting & { readonly other: bigint | null }) | null = null;
  let isDisputed = false;
  let wasLinked = false;
  let unlinkedSinceMs: number | null = null;

  async function isLinked(head: Head, required: bigint): Promise<boolean> {
    const depth = min(required, maxLinked);
    const lowest = head.number - depth + 1n;
    if (await branch.reach(lowest < 0n ? 0n : lowest)) {
      wasLinked = true;
      return true;
    }
    if (wasLinked) return false;
    unlinkedSinceMs ??= clock.elapsedMs();
    if (clock.elapsedMs() - unlinkedSinceMs < unlinkedForMs) return false;
    return (await rpc.ask(questions.blockHash(head.number))) === head.hash;
  }

  /** Returns our hashes at these heights. On a network whose blocks are not linked, reads them from the endpoint of the head. */
  async function ownHashes(heights: readonly bigint[]): Promise<readonly (string | null)[]> {
    if (wasLinked) {
      // As far as they are known: a network may have fewer required confirmations than blocks that another endpoint may not have yet.
      await branch.reach(heights.at(-1) ?? 0n);
      return heights.map((height) => branch.hashAt(height) ?? null);
    }
    const settled = await rpc.batch(heights.map(questions.blockHash), { first: 'head' });
    return settled.map((answer) => ('result' in answer ? answer.result : null));
  }

  /**
   * Compares the newest block of an endpoint that seems to lag. An endpoint that jumps ahead makes an honest one seem so: it must show how
   * its head follows that block. `unproved`: it does not; null: the other one has been far behind for long.
   */
  async function compareBehind(head: Head, { number, hash, timestampMs }: Block): Promise<'same' | 'another' | 'unproved' | null> {
    if (number > head.number) return null;
    if (head.number - number > maxDepth) {
      if (timestampMs === null || clock.nowMs() - timestampMs > recentMs) return null;
      const [answer] = await rpc.batch([questions.blockHash(number)], { first: 'head' });
      return answer === undefined || !('result' in answer) ? 'unproved' : answer.result === hash ? 'same' : 'another';
    }
    if (wasLinked && !(await branch.reach(number))) return 'unproved';
    const [own = null] = await ownHashes([number]);
    // Our chain may have no block at a number at which it has one.
    return own === hash ? 'same' : own === null && !wasLinked ? null : 'another';
  }

  /** Returns the highest block that another endpoint confirms; null: none yet. */
  async function sharedUpTo(head: Head): Promise<bigint | null> {
    const isShared = (height: bigint): boolean => shared?.number === height && branch.hashAt(height) === shared.hash;
    if (shared !== null && isShared(shared.number) && shared.number >= head.number - 1n) {
      isDisputed = false;
      return head.number;
    }
    const heights = distances.map((distance) => head.number - distance).filter((height) => height >= 0n);
    const settled = await rpc.batch<Block | null>([...heights.map(questions.block), questions.head()], { first: 'another' });
    const answers = settled.map((answer) => ('result' in answer ? answer.result : null));
    const own = await ownHashes(heights);
    const index = heights.findIndex((_, at) => own[at] !== null && answers[at]?.hash === own[at]);
    const agreed = heights[index];
    if (agreed !== undefined) {
      shared = { number: agreed, hash: own[index] ?? '' };
      alone = null;
      isDisputed = false;
      return agreed >= head.number - 1n ? head.number : agreed;
    }
    const newest = answers[heights.length] ?? null;
    const isNear = heights.some((_, at) => answers[at] != null);
    // A lagging endpoint may show another block at the final height.
    const behind = newest === null || isNear ? null : await compareBehind(head, newest);
    isDisputed = isNear || behind === 'another' || rpc.hasRival();
    if (newest !== null && behind === 'same') shared = { number: newest.number, hash: newest.hash };
    const isFollowing = newest !== null && behind === 'same' && newest.number > (alone?.other ?? -1n);
    if (isDisputed || behind === 'unproved') alone = null;
    else if (alone === null || isFollowing)
      alone = { ...seenAt(null, head, clock.elapsedMs()), other: behind === 'same' ? (newest?.number ?? null) : null };
    else alone = { ...alone, ...seenAt(alone, head, clock.elapsedMs()) };
    if (alone !== null && isOver(aloneFor, lasted(alone, clock.elapsedMs()))) return head.number;
    if (behind === 'same') return newest?.number ?? null;
    return shared !== null && isShared(shared.number) ? shared.number : null;
  }

  return {
    isDisputed: () => isDisputed,
    async finalBlock(head, required) {
      if (required === 1) return head.number;
      // The lane looks again at the newest head.
      if (branch.hashAt(head.number) !== head.hash) return null;
      if (!(await isLinked(head, BigInt(required)))) return null;
      const proved = hasOthers ? await sharedUpTo(head) : head.number;
      return proved === null ? null : proved - BigInt(required) + 1n;
    },
  };
}

/** The distances below the head at which another endpoint's blocks are read: 1, 2, 4, up to normal propagation. */
function distancesFrom(most: bigint): readonly bigint[] {
  const distances: bigint[] = [];
  for (let distance = 1n; distance < most; distance *= 2n) distances.push(distance);
  return [...distances, most];
}
