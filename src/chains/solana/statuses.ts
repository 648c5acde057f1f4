import { listFrom, objectFrom } from '../rpc/answer.js';
import { MalformedAnswerError } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { type AtSlot, atSlotFrom, integerFrom } from './answer.js';
import { type TransactionError, transactionErrorFrom } from './failure.js';

/** Where a signature was found. */
export interface SignatureStatus {
  readonly slot: bigint;
  /** True when its block can never be taken back. */
  readonly isFinal: boolean;
  /** Null when it ran. */
  readonly error: TransactionError | null;
}

/** Nodes answer no more at once (`MAX_GET_SIGNATURE_STATUSES_QUERY_ITEMS`). */
export const greatestStatusesAsked = 256;

/**
 * What a node knows of these signatures, at most `greatestStatusesAsked`, in their order; null of one that it has not seen. Without history it looks at the newest
 * 300 blocks or so. Throws `NODE_UNAVAILABLE`, also where the node keeps no history.
 */
export function readStatuses(
  rpc: Rpc,
  signatures: readonly string[],
  withHistory: boolean,
): Promise<AtSlot<readonly (SignatureStatus | null)[]>> {
  const read = (value: unknown): readonly (SignatureStatus | null)[] => {
    const statuses = listFrom(value, 'signature statuses').map(statusFrom);
    if (statuses.length !== signatures.length) throw new MalformedAnswerError('list of signature statuses');
    return statuses;
  };
  const params = [signatures, { searchTransactionHistory: withHistory }];
  return rpc.ask('getSignatureStatuses', params, (answer) => atSlotFrom(answer, 'signature statuses', read), { first: 'head' });
}

function statusFrom(value: unknown): SignatureStatus | null {
  if (value === null) return null;
  const { slot, confirmationStatus, err } = objectFrom(value, 'signature status');
  return { slot: integerFrom(slot, 'slot'), isFinal: confirmationStatus === 'finalized', error: transactionErrorFrom(err) };
}
