import { listFrom, objectFrom } from '../rpc/answer.js';
import type { RpcCall } from '../rpc/json-rpc.js';
import { MalformedAnswerError } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { type AtSlot, atSlotFrom, integerFrom } from './answer.js';
import { failureSentence, linesFrom, type TransactionError, transactionErrorFrom } from './failure.js';

/** The block of a signature and its result. */
export interface SignatureStatus {
  readonly slot: bigint;
  /** True if the block is finalized. */
  readonly isFinal: boolean;
  /** Null if the transaction succeeded. */
  readonly error: TransactionError | null;
}

/** One status per signature, in order; null if the node has not seen it. */
export type Statuses = AtSlot<readonly (SignatureStatus | null)[]>;

/** The maximum per call (`MAX_GET_SIGNATURE_STATUSES_QUERY_ITEMS`). */
export const maxStatuses = 256;

/** Reads the statuses of at most `maxStatuses` signatures. Without history a node searches only about the newest 300 blocks. */
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

/** Describes why a transaction failed on chain, with its program log if the node keeps it. Never throws. */
export async function whyFailed(rpc: Rpc, signature: string): Promise<string> {
  const sentence = (await withLogs(rpc, signature).catch(() => null)) ?? (await withoutLogs(rpc, signature).catch(() => null));
  return sentence === null ? 'failed on chain' : `failed on chain: ${sentence}`;
}

function withLogs(rpc: Rpc, signature: string): Promise<string | null> {
  const config = { encoding: 'base64', commitment: 'confirmed', maxSupportedTransactionVersion: 0 };
  return rpc.call({ method: 'getTransaction', params: [signature, config], read: sentenceFrom }, { first: 'head' });
}

async function withoutLogs(rpc: Rpc, signature: string): Promise<string | null> {
  const { method, params, read } = statusesCall([signature], false);
  const { value } = await rpc.call({ method, params, read }, { first: 'head' });
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
