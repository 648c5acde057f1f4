import { nullIfUnavailable } from '../../core/errors/unavailable.js';
import type { BlockMemory } from '../../core/work/block-memory.js';
import type { Rpc } from '../rpc/rpc.js';
import { type BlockPosition, maxSlotsAhead, questions, validBlocks } from './questions.js';

/**
 * The slots and heights of the newest blocks. How long an attempt can land is counted in heights, so one node alone must not choose them:
 * once most of several endpoints agree on the slots that the chain has skipped, a height that does not fit is not an answer.
 */
export interface Positions {
  /** Reads the newest confirmed block, and clears the memory of the previous one. Throws `NODE_UNAVAILABLE`. */
  head(): Promise<BlockPosition>;
  /** Returns the newest confirmed block from memory or a node. Throws `NODE_UNAVAILABLE`. */
  confirmed(): Promise<BlockPosition>;
  /** True unless the height cannot belong to the slot. */
  isSane(position: BlockPosition): boolean;
}

const memoryKey = 'newest confirmed block';
const endless = 2n ** 64n;
/** Endpoints are compared again after this number of slots. */
const slotsBetween = 150n;

/** Creates the positions of a network. */
export function createPositions(rpc: Rpc, memory: BlockMemory): Positions {
  /** Positions of which each agreed with most of the others; null: none yet. One of them may still be wrong, and fit only these. */
  let agreed: readonly BlockPosition[] | null = null;
  let comparedSlot: bigint | null = null;

  const isSane = (position: BlockPosition): boolean => agreed === null || 2 * fitting(position, agreed) >= agreed.length;

  async function compare(): Promise<void> {
    if (rpc.isSingle()) return;
    const shown = (await rpc.opinions(questions.position('confirmed', () => true)).catch(nullIfUnavailable)) ?? [];
    // The word of the only one that answers is all that there is.
    const ofMost = shown.filter((one) => 2 * fitting(one, shown) > shown.length);
    if (shown.length <= 1) agreed = null;
    else if (ofMost.length > 0) agreed = ofMost;
    else agreed = (await ofMostBlockhashes(shown)) ?? agreed;
  }

  /** Positions that fit the newest blockhashes of the endpoints better than others do; null: none does. */
  async function ofMostBlockhashes(shown: readonly BlockPosition[]): Promise<readonly BlockPosition[] | null> {
    const hashes = (await rpc.opinions(questions.latestBlockhash(endless, -1n, () => endless)).catch(nullIfUnavailable)) ?? [];
    const votes = ({ height }: BlockPosition): number =>
      hashes.filter(({ lastValidBlockHeight: last }) => last > height && last <= height + validBlocks + maxSlotsAhead).length;
    const most = Math.max(...shown.map(votes));
    const best = shown.filter((one) => votes(one) === most);
    return best.length < shown.length ? best : null;
  }

  async function ask(): Promise<BlockPosition> {
    const { read, ...call } = questions.position('confirmed', isSane);
    return rpc.askHead({
      ...call,
      read: (answer) => {
        const position = read(answer, null);
        return { ...position, number: position.slot };
      },
      isEmpty: () => false,
    });
  }

  async function newest(): Promise<BlockPosition> {
    const position = await ask().catch(async () => {
      // A network that began again has other heights.
      await compare();
      return ask();
    });
    if (comparedSlot !== null && position.slot >= comparedSlot && position.slot < comparedSlot + slotsBetween) return position;
    comparedSlot = position.slot;
    await compare();
    return isSane(position) ? position : ask();
  }

  return {
    async head() {
      const position = await newest();
      memory.forgetAll();
      void memory.recall(memoryKey, async () => position);
      return position;
    },
    confirmed: () => memory.recall(memoryKey, () => rpc.ask(questions.position('confirmed', isSane))),
    isSane,
  };
}

/** Returns how many of these a position fits. */
function fitting(one: BlockPosition, shown: readonly BlockPosition[]): number {
  return shown.filter((other) => canBothBe(one, other)).length;
}

/** True if both can be of one chain: between them it has skipped no fewer than no slots, and no more than there are. */
function canBothBe(a: BlockPosition, b: BlockPosition): boolean {
  const slots = b.slot - a.slot;
  const heights = b.height - a.height;
  return slots >= 0n ? heights >= 0n && heights <= slots : heights <= 0n && heights >= slots;
}
