import { xdr } from '@stellar/stellar-sdk';
import type { Receipt } from '../../core/ports/chain.js';
import type { MinedFacts } from '../../core/transaction/transaction.js';
import { objectFrom } from '../rpc/answer.js';
import type { RpcCall } from '../rpc/json-rpc.js';
import { MalformedAnswerError } from '../rpc/node-error.js';
import { hashFrom, integerFrom, xdrFrom } from './answer.js';

/** What a node knows of a transaction, and which ledgers it knows at all. */
export interface NodeView {
  /** Null: no ledger that the node still has holds it. */
  readonly found: FoundTransaction | null;
  readonly latestLedger: bigint;
  readonly latestCloseTimeS: bigint;
  /** When the oldest ledger that the node still has was closed. */
  readonly oldestCloseTimeS: bigint;
}

/** A transaction that a ledger holds. */
export interface FoundTransaction {
  readonly ledger: bigint;
  readonly succeeded: boolean;
  readonly result: xdr.TransactionResult;
  readonly facts: MinedFacts;
}

/** A value that a function gave back is shown up to this length of its base64. */
const greatestReturnValueLength = 256 * 1024;

/** Asks for a transaction by its hash, 64 hex digits; that of a fee bump is its own, not that of what is in it. */
export function getTransactionCall(hash: string): RpcCall<NodeView> {
  return {
    method: 'getTransaction',
    params: { hash },
    read(answer) {
      const view = objectFrom(answer, 'transaction');
      // An answer to another question, as when a gateway mixes up a batch.
      if (view.txHash !== undefined && hashFrom(view.txHash, 'transaction hash') !== hash) {
        throw new MalformedAnswerError('transaction: it is another one');
      }
      return {
        found: foundFrom(view),
        latestLedger: integerFrom(view.latestLedger, 'latest ledger'),
        latestCloseTimeS: integerFrom(view.latestLedgerCloseTime, 'close time'),
        oldestCloseTimeS: integerFrom(view.oldestLedgerCloseTime, 'close time'),
      };
    },
  };
}

/**
 * What records know of where it is. A ledger is final when it is closed, and nodes name no hash beside a transaction, so its number stands for it.
 */
export function receiptFrom(hash: string, { ledger, succeeded, facts }: FoundTransaction): Receipt {
  return { hash, blockNumber: ledger, blockHash: ledgerName(ledger), succeeded, facts };
}

/** What stands for a ledger's hash. */
export function ledgerName(number: bigint): string {
  return `ledger ${number}`;
}

function foundFrom(view: Readonly<Record<string, unknown>>): FoundTransaction | null {
  if (view.status === 'NOT_FOUND') return null;
  if (view.status !== 'SUCCESS' && view.status !== 'FAILED') throw new MalformedAnswerError('transaction status');
  const result = xdrFrom(xdr.TransactionResult, view.resultXdr, 'transaction result');
  const succeeded = view.status === 'SUCCESS';
  return {
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
