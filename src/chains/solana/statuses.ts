import { listFrom, objectFrom } from '../rpc/answer.js';
import type { RpcCall } from '../rpc/json-rpc.js';
import { MalformedAnswerError } from '../rpc/node-error.js';
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

/** One for each signature, in their order; null of one that the node has not seen. */
export type Statuses = AtSlot<readonly (SignatureStatus | null)[]>;

/** Nodes answer no more at once (`MAX_GET_SIGNATURE_STATUSES_QUERY_ITEMS`). */
export const greatestStatusesAsked = 256;

/** Asks what a node knows of these signatures, at most `greatestStatusesAsked`. Without history it looks at the newest 300 blocks or so. */
export function statusesCall(signatures: readonly string[], withHistory: boolean): RpcCall<Statuses> {
  const read = (value: unknown): readonly (SignatureStatus | null)[] => {
    const statuses = listFrom(value, 'signature statuses').map(statusFrom);
    if (statuses.length !== signatures.length) throw new MalformedAnswerError('list of signature statuses');
    return statuses;
  };
  return {
    method: 'getSignatureStatuses',
    params: [signatures, { searchTransactionHistory: withHistory }],
    read: (answer) => atSlotFrom(answer, 'signature statuses', read),
  };
}

function statusFrom(value: unknown): SignatureStatus | null {
  if (value === null) return null;
  const { slot, confirmationStatus, err } = objectFrom(value, 'signature status');
  return { slot: integerFrom(slot, 'slot'), isFinal: confirmationStatus === 'finalized', error: transactionErrorFrom(err) };
}
