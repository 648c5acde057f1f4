import { nullIfUnavailable } from '../../core/errors/unavailable.js';
import type { Head } from '../../core/ports/chain/head.js';
import type { SenderTransaction } from '../../core/ports/chain/outcomes.js';
import type { Sequence } from '../../core/ports/chain/slots.js';
import { finalAt, isDeep } from './block-view.js';
import type { LaneContext } from './lane-context.js';
import { isAloneLong } from './read-finals-again.js';

/**
 * What is known of a transaction that used a nonce. `early`: its block lacks confirmations. `disputed`: another endpoint does not show it
 * in its block, or has not answered yet. `refuted`: its block does not hold it.
 */
export type UseProof = 'proved' | 'early' | 'disputed' | 'refuted';

/** True if the block of a transaction has the required confirmations: a node must show it at its height, below a head of the same node. */
export async function isInFinalBlock(
  lane: LaneContext,
  sequence: Sequence,
  head: Head,
  { blockNumber, blockHash }: SenderTransaction,
): Promise<boolean> {
  return (
    isDeep(lane, head, blockNumber) &&
    (await sequence.blockHash(blockNumber)) === blockHash &&
    (await finalAt(lane, sequence, head))(blockNumber)
  );
}

/**
 * Says whether a foreign transaction is proved to have used a nonce, as receipts of our own are: it displaces the transaction with this id,
 * which fails then, or is paid with another nonce. The endpoint that showed it has only proved that our key signed it, not that the block
 * holds it.
 */
export async function proveUse(lane: LaneContext, sequence: Sequence, head: Head, user: SenderTransaction, id: string): Promise<UseProof> {
  if (!(await isInFinalBlock(lane, sequence, head, user))) return 'early';
  const { hash, blockNumber, blockHash } = user;
  // A transaction that failed has used its nonce too.
  const receipt = { hash, blockNumber, blockHash, succeeded: true, facts: null, isOnlyBlock: true } as const;
  const reading = (await sequence.readAgain([receipt]).catch(nullIfUnavailable))?.get(hash) ?? 'unknown';
  if (reading === 'unknown') return isAloneLong(lane, head, id) ? 'proved' : 'disputed';
  const record = lane.transactions.tracked(id);
  if (record !== undefined) record.unread = null;
  if (reading === 'absent') return 'refuted';
  const isShown = typeof reading === 'string' ? reading !== 'different' && reading !== 'below' : reading.blockHash === blockHash;
  return isShown ? 'proved' : 'disputed';
}
