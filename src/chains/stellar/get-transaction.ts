import { xdr } from '@stellar/stellar-sdk';
import type { MinedFacts } from '../../core/transaction/transaction.js';
import { type Answer, objectFrom } from '../rpc/answer.js';
import type { RpcCall } from '../rpc/json-rpc.js';
import { MalformedAnswerError } from '../rpc/node-error.js';
import { integerFrom, xdrFrom } from './answer.js';
import { senderOf } from './sender.js';

/** What a node knows of a transaction, and which ledgers it knows at all. */
export interface NodeView {
  /** Null: no ledger that the node still has holds it. */
  readonly found: FoundTransaction | null;
  readonly latestLedger: bigint;
  readonly latestCloseTimeS: bigint;
  /** The oldest that the node still has. */
  readonly oldestLedger: bigint;
}

/** A transaction that a ledger holds. */
export interface FoundTransaction {
  /** Its own hash: not the one that was asked for, where that is of a transaction inside a fee bump. */
  readonly hash: string;
  readonly ledger: bigint;
  readonly succeeded: boolean;
  readonly result: xdr.TransactionResult;
  readonly facts: MinedFacts;
}

/** A value that a function gave back is shown up to this length of its base64. */
const greatestReturnValueLength = 256 * 1024;

/** Asks for a transaction by its hash, 64 hex digits. Nodes find a fee bump also by the hash of what is inside. */
export function getTransactionCall(hash: string, networkId: Buffer): RpcCall<NodeView> {
  return {
    method: 'getTransaction',
    params: { hash },
    read(answer) {
      const view = objectFrom(answer, 'transaction');
      return {
        found: foundFrom(view, hash, networkId),
        latestLedger: integerFrom(view.latestLedger, 'latest ledger'),
        latestCloseTimeS: integerFrom(view.latestLedgerCloseTime, 'close time'),
        oldestLedger: integerFrom(view.oldestLedger, 'oldest ledger'),
      };
    },
  };
}

/** What stands for a ledger's hash. */
export function ledgerName(number: bigint): string {
  return `ledger ${number}`;
}

function foundFrom(view: Answer, asked: string, networkId: Buffer): FoundTransaction | null {
  if (view.status === 'NOT_FOUND') return null;
  if (view.status !== 'SUCCESS' && view.status !== 'FAILED') throw new MalformedAnswerError('transaction status');
  const { hash, innerHash } = senderOf(xdrFrom(xdr.TransactionEnvelope, view.envelopeXdr, 'envelope'), networkId);
  // An answer to another question, as when a gateway mixes up a batch.
  if (asked !== hash && asked !== innerHash) throw new MalformedAnswerError('transaction: it is another one');
  const result = xdrFrom(xdr.TransactionResult, view.resultXdr, 'transaction result');
  const succeeded = view.status === 'SUCCESS';
  return {
    hash,
    ledger: integerFrom(view.ledger, 'ledger'),
    succeeded,
    result,
    facts: {
      network: 'stellar',
      feeChargedStroops: result.feeCharged().toBigInt(),
      returnValueXdr: succeeded && typeof view.resultMetaXdr === 'string' ? returnValueOf(view.resultMetaXdr) : null,
    },
  };
}

/** What the called function gave back; null where none was called, and where the metadata is of a version that is not known here. */
function returnValueOf(metaXdr: string): string | null {
  try {
    const meta = xdr.TransactionMeta.fromXDR(metaXdr, 'base64');
    const version = meta.switch();
    const value = version === 3 ? meta.v3().sorobanMeta()?.returnValue() : version === 4 ? meta.v4().sorobanMeta()?.returnValue() : null;
    const text = value?.toXDR('base64') ?? null;
    return text !== null && text.length <= greatestReturnValueLength ? text : null;
  } catch {
    return null;
  }
}
