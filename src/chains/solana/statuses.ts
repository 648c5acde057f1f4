import { listFrom, objectFrom } from '../rpc/answer.js';
import type { RpcCall } from '../rpc/json-rpc.js';
import { MalformedAnswerError } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { type AtSlot, atSlotFrom, integerFrom } from './answer.js';
import { failureSentence, linesFrom, type TransactionError, transactionErrorFrom } from './failure.js';

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

/** Why a transaction failed on the chain, with what its programs logged where the node keeps that. Never throws. */
export async function whyFailed(rpc: Rpc, signature: string): Promise<string> {
  const sentence = (await withLogs(rpc, signature).catch(() => null)) ?? (await withoutLogs(rpc, signature).catch(() => null));
  return sentence === null ? 'failed on chain' : `failed on chain: ${sentence}`;
}

function withLogs(rpc: Rpc, signature: string): Promise<string | null> {
  const config = { encoding: 'base64', commitment: 'confirmed', maxSupportedTransactionVersion: 0 };
  return rpc.call('getTransaction', [signature, config], sentenceFrom, { first: 'head' });
}

async function withoutLogs(rpc: Rpc, signature: string): Promise<string | null> {
  const { method, params, read } = statusesCall([signature], false);
  const { value } = await rpc.call(method, params, read, { first: 'head' });
  const error = value[0]?.error ?? null;
  return error === null ? null : failureSentence(error, []);
}

function sentenceFrom(answer: unknown): string | null {
  if (answer === null) return null;
  const { meta } = objectFrom(answer, 'transaction');
  const { err, logMessages } = objectFrom(meta, 'transaction meta');
  const error = transactionErrorFrom(err);
  return error === null ? null : failureSentence(error, linesFrom(logMessages));
}
