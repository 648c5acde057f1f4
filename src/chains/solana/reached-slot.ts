import { isUnavailable } from '../../core/errors/unavailable.js';
import type { Denials } from '../rpc/denials.js';
import { NodeError } from '../rpc/node-error.js';

/** One wait for all: no endpoint has reached the newest slot. */
const newestSlot = 'newest slot';

/**
 * Asks nodes for what must not be older than a slot. If all have refused that for as long as the memory says, in any words, even the node
 * that showed the newest slot has not reached it: the slot was made up, and the newest state that nodes have counts. Throws
 * `NODE_UNAVAILABLE`.
 */
export async function atReachedSlot<T>(unreached: Denials, slot: bigint, ask: (slot: bigint) => Promise<T>): Promise<T> {
  try {
    const answer = await ask(slot);
    unreached.forget(newestSlot);
    return answer;
  } catch (error) {
    if (!isRefused(error) || !unreached.isLong(newestSlot)) throw error;
    return ask(0n);
  }
}

function isRefused(error: unknown): boolean {
  return isUnavailable(error) && error.cause instanceof NodeError;
}
