import type { Endpoint } from './endpoint.js';
import type { BlockId } from './json-rpc.js';

type Shown = readonly [BlockId | null, BlockId | null];

/**
 * Finds which of two endpoints that contradict each other numbers its blocks wrongly, however consistently; null: nothing proves it.
 * Bisects the heights up to this one for the first at which they differ. The two blocks there must have the last common block as their
 * parent, or else an endpoint's blocks do not follow one another. Asks each endpoint about twice as often as the height has bits, at most.
 * Two branches of a chain differ too, but each follows the common block.
 */
export async function findMisnumbered(one: Endpoint, other: Endpoint, height: bigint): Promise<Endpoint | null> {
  const shownAt = (at: bigint): Promise<Shown> => Promise.all([one.blockAt(at), other.blockAt(at)]);
  const [[first, second], top] = await Promise.all([shownAt(0n), shownAt(height)]);
  if (first === null || first.hash !== second?.hash || top.includes(null) || top[0]?.hash === top[1]?.hash) return null;
  let common = { height: 0n, hash: first.hash };
  let apart = { height, shown: top };
  while (apart.height - common.height > 1n) {
    const middle = (apart.height + common.height) / 2n;
    const shown = await shownAt(middle);
    const [a, b] = shown;
    if (a !== null && a.hash === b?.hash) common = { height: middle, hash: a.hash };
    else apart = { height: middle, shown };
  }
  const follow = (block: BlockId | null): boolean => block?.parentHash === common.hash;
  const [a, b] = apart.shown;
  if (a !== null && b !== null) return follow(a) === follow(b) ? null : follow(a) ? other : one;
  // An endpoint that numbers its blocks too high leaves out heights, and its next block follows the common one.
  const [silent, block] = a === null ? [one, b] : [other, a];
  return follow(block) && follow(await lowestAbove(silent, apart.height, height)) ? silent : null;
}

/** The lowest block that an endpoint shows above a height at which it shows none. `shown`: a height at which it shows one. */
async function lowestAbove(endpoint: Endpoint, none: bigint, shown: bigint): Promise<BlockId | null> {
  let [low, high] = [none, shown];
  while (high - low > 1n) {
    const middle = (low + high) / 2n;
    if ((await endpoint.blockAt(middle)) === null) low = middle;
    else high = middle;
  }
  return endpoint.blockAt(high);
}
