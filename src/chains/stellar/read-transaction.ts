import { xdr } from '@stellar/stellar-sdk';
import type { MinedFacts } from '../../core/records/transaction.js';
import { type Answer, objectFrom } from '../rpc/answer.js';
import { MalformedAnswerError } from '../rpc/node-error.js';
import { integerFrom, textFrom, xdrFrom } from './answer.js';
import { identityOf } from './envelope.js';
import { readXdr } from './xdr-text.js';

/** A node's view of a transaction, and the range of its ledgers. */
export interface NodeView {
  /** Null if no ledger of the node contains it. */
  readonly found: FoundTransaction | null;
  readonly latestLedger: bigint;
  readonly latestCloseTimeS: bigint;
  readonly oldestLedger: bigint;
  readonly oldestCloseTimeS: bigint;
}

/** A transaction in a ledger. */
export interface FoundTransaction {
  /** The hash of the outermost envelope; the request may have used the hash of its inner transaction. */
  readonly hash: string;
  readonly ledger: bigint;
  readonly succeeded: boolean;
  /** Null: a result of a later protocol, which cannot be decoded. */
  readonly result: xdr.TransactionResult | null;
  readonly facts: MinedFacts;
}

/** Longer return values (base64) are left out of records. */
const maxReturnValueLength = 256 * 1024;

/**
 * Reads what a node has of a transaction with this hash, 64 hex digits. Nodes also find a fee-bump envelope by the hash of its inner
 * transaction. Throws `MalformedAnswerError`, also for another transaction.
 */
export function nodeViewFrom(answer: unknown, hash: string, networkId: Buffer): NodeView {
  const view = objectFrom(answer, 'transaction');
  const found = foundFrom(view, hash, networkId);
  const latestLedger = integerFrom(view.latestLedger, 'latest ledger');
  const oldestLedger = integerFrom(view.oldestLedger, 'oldest ledger');
  if (found !== null && (found.ledger > latestLedger || found.ledger < oldestLedger))
    throw new MalformedAnswerError('ledger of a transaction');
  return {
    found,
    latestLedger,
    latestCloseTimeS: integerFrom(view.latestLedgerCloseTime, 'close time'),
    oldestLedger,
    oldestCloseTimeS: integerFrom(view.oldestLedgerCloseTime, 'close time of the oldest ledger'),
  };
}

function foundFrom(view: Answer, asked: string, networkId: Buffer): FoundTransaction | null {
  if (view.status === 'NOT_FOUND') return null;
  if (view.status !== 'SUCCESS' && view.status !== 'FAILED') throw new MalformedAnswerError('transaction status');
  const { hash, innerHash } = identityOf(xdrFrom(xdr.TransactionEnvelope, view.envelopeXdr, 'envelope'), networkId);
  // The answer belongs to another call, for example if a gateway mixes up a batch.
  if (asked !== hash && asked !== innerHash) throw new MalformedAnswerError('transaction: not the requested one');
  const resultText = textFrom(view.resultXdr, 'transaction result');
  const result = readXdr(xdr.TransactionResult, resultText);
  const succeeded = view.status === 'SUCCESS';
  return {
    hash,
    ledger: integerFrom(view.ledger, 'ledger'),
    succeeded,
    result,
    facts: {
      gasUsed: null,
      feePaid: result?.feeCharged ?? feeChargedIn(resultText),
      returnValueXdr: succeeded && typeof view.resultMetaXdr === 'string' ? returnValueOf(view.resultMetaXdr) : null,
    },
  };
}

/** Reads the fee of a result of any protocol: it comes first. Throws `MalformedAnswerError` for what is no result. */
function feeChargedIn(resultText: string): bigint {
  const bytes = Buffer.from(resultText, 'base64');
  if (bytes.length < 16) throw new MalformedAnswerError('transaction result');
  return bytes.readBigInt64BE();
}

/** Returns the return value of the called function; null if there is none, or the metadata is too large or has an unknown version. */
function returnValueOf(metaXdr: string): string | null {
  const meta = readXdr(xdr.TransactionMeta, metaXdr);
  const value = meta?.type === 'v3' ? meta.v3.sorobanMeta?.returnValue : meta?.type === 'v4' ? meta.v4.sorobanMeta?.returnValue : null;
  const text = value?.toXdr('base64') ?? null;
  return text !== null && text.length <= maxReturnValueLength ? text : null;
}
