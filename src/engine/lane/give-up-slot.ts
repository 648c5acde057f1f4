import { nullIfUnavailable } from '../../core/errors/unavailable.js';
import type { Head } from '../../core/ports/chain/head.js';
import type { NonceAnswer } from '../../core/ports/chain/outcomes.js';
import type { Sequence } from '../../core/ports/chain/slots.js';
import type { OpenTransaction } from '../../core/records/transaction.js';
import { isOver } from '../../core/work/patience.js';
import type { LaneContext } from './lane-context.js';

/** A transaction is not given up before this time: blocks can be fast, and outages of an index long. */
const givenUpAfterMs = 600_000;
/** Give up if searches find nothing for this many heads, and not before the nonce is as deep as the required confirmations. */
const maxEmptyHeads = 64;
/**
 * The depth at which a nonce must be used before its transaction is given up: gateways count their pool into the newest block, and nodes
 * prune state.
 */
const provenDepth = { least: 8, most: 64 };

/** True if searches have found no user of the transaction's nonce for long enough to expect none any more. */
export function isSearchedLong(lane: LaneContext, open: OpenTransaction, emptyHeads: number): boolean {
  const nowMs = lane.deps.clock.nowMs();
  const patience = { heads: Math.max(maxEmptyHeads, lane.relayer().network.requiredConfirmations), ms: givenUpAfterMs };
  // The newest attempt has to be old enough for a node's index to have recovered from an outage.
  return isOver(patience, { heads: emptyHeads, ms: nowMs - (open.attempts.at(-1)?.createdAtMs ?? nowMs) });
}

/**
 * True if the nonce was used some blocks ago, in a state that no pool is part of. Without that state, the newest one that nodes have
 * decides. A second endpoint must show it too, since a transaction that is given up may be paid again by its caller.
 */
export async function isProvablyUsed(lane: LaneContext, sequence: Sequence, head: Head, nonce: bigint): Promise<boolean> {
  const { least, most } = provenDepth;
  const depth = BigInt(Math.min(most, Math.max(least, lane.relayer().network.requiredConfirmations)));
  const shown = async (otherThan?: NonceAnswer) => {
    const at = (block: bigint) => sequence.nextAt(lane.id.account, block, otherThan).catch(nullIfUnavailable);
    const deep = await at(head.number > depth ? head.number - depth : 0n);
    return deep?.next === 'pruned' ? at(head.number) : deep;
  };
  const isUsedIn = (answer: NonceAnswer | null) => typeof answer?.next === 'bigint' && answer.next > nonce;
  const first = await shown();
  return first !== null && isUsedIn(first) && isUsedIn(await shown(first));
}
