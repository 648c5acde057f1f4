import { xdr } from '@stellar/stellar-sdk';
import type { Receipt } from '../../core/ports/chain.js';
import type { MinedFacts } from '../../core/records/transaction.js';
import { type Answer, objectFrom } from '../rpc/answer.js';
import type { CallOptions } from '../rpc/call-router.js';
import type { RpcCall } from '../rpc/json-rpc.js';
import { MalformedAnswerError, nodeUnavailable } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { integerFrom, textFrom, xdrFrom } from './answer.js';
import { identityOf } from './envelope.js';
import { readXdr } from './xdr-text.js';

/**
 * Reads the transaction that nodes have for each hash. An inner transaction is reported under the hash of its fee-bump envelope if that is
 * among `hashes`, else under its own: it also counts if another account wrapped it in a fee-bump envelope. Throws `NODE_UNAVAILABLE`.
 */
export async function readTransactions(
  rpc: Rpc,
  networkId: Buffer,
  hashes: readonly string[],
  options: CallOptions = { first: 'head' },
): Promise<ReadonlyMap<string, NodeView>> {
  const asked = new Set(hashes);
  const views = await rpc.batch(
    hashes.map((hash) => getTransactionCall(hash, networkId)),
    options,
  );
  return new Map(
    hashes.map((hash, index) => {
      const view = views[index];
      if (view === undefined || 'error' in view) throw nodeUnavailable(view?.error);
      const { found } = view.result;
      const isReportedByBump = found !== null && found.hash !== hash && asked.has(found.hash);
      return [hash, isReportedByBump ? { ...view.result, found: null } : view.result];
    }),
  );
}

/**
 * Returns the receipt of the transaction with the requested hash, under the hash of the outermost envelope; null if no ledger contains it.
 * A closed ledger is final and nodes report no ledger hash with a transaction, so the ledger number replaces it. The fee is 0 if another
 * account's fee-bump envelope paid it.
 */
export function receiptFrom(hash: string, { found }: NodeView): Receipt | null {
  if (found === null) return null;
  const { ledger, succeeded, facts } = found;
  const receipt: Receipt = { hash: found.hash, blockNumber: ledger, blockHash: ledgerName(ledger), succeeded, facts };
  return found.hash === hash ? receipt : withoutFee(receipt);
}

/** Returns a receipt whose fee another account paid. */
export function withoutFee(receipt: Receipt): Receipt {
  return receipt.facts === null ? receipt : { ...receipt, facts: { ...receipt.facts, feePaid: 0n } };
}

/** A node's view of a transaction, and the range of its ledgers. */
export interface NodeView {
  /** Null if no ledger of the node contains it. */
  readonly found: FoundTransaction | null;
  readonly latestLedger: bigint;
  readonly latestCloseTimeS: bigint;
  readonly oldestLedger: bigint;
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

/** Asks for a transaction by its hash, 64 hex digits. Nodes also find a fee-bump envelope by the hash of its inner transaction. */
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

/** Returns the name that replaces the hash of a ledger. */
export function ledgerName(number: bigint): string {
  return `ledger ${number}`;
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

/** Returns the return value of the called function; null if there is none or the metadata has an unknown version. */
function returnValueOf(metaXdr: string): string | null {
  try {
    const meta = xdr.TransactionMeta.fromXdr(metaXdr, 'base64');
    const value = meta.type === 'v3' ? meta.v3.sorobanMeta?.returnValue : meta.type === 'v4' ? meta.v4.sorobanMeta?.returnValue : null;
    const text = value?.toXdr('base64') ?? null;
    return text !== null && text.length <= maxReturnValueLength ? text : null;
  } catch {
    return null;
  }
}
