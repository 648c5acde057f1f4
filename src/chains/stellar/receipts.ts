import { xdr } from '@stellar/stellar-sdk';
import type { Receipt } from '../../core/ports/chain.js';
import type { MinedFacts } from '../../core/transaction/transaction.js';
import { type Answer, objectFrom } from '../rpc/answer.js';
import type { RpcCall } from '../rpc/json-rpc.js';
import { MalformedAnswerError, nodeUnavailable } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { integerFrom, xdrFrom } from './answer.js';
import { senderOf } from './envelope.js';

/**
 * What nodes know of each of these transactions, by hash as given. One that is inside a fee bump is told as that fee bump where its hash is among them, and
 * else under its own: what somebody else has put a fee bump around is done all the same. Throws `NODE_UNAVAILABLE`.
 */
export async function readTransactions(rpc: Rpc, networkId: Buffer, hashes: readonly string[]): Promise<ReadonlyMap<string, NodeView>> {
  const asked = new Set(hashes);
  const views = await rpc.batch(
    hashes.map((hash) => getTransactionCall(hash, networkId)),
    { first: 'head' },
  );
  return new Map(
    hashes.map((hash, index) => {
      const view = views[index];
      if (view === undefined || 'error' in view) throw nodeUnavailable(view?.error);
      const { found } = view.result;
      const isTold = found !== null && found.hash !== hash && asked.has(found.hash);
      return [hash, isTold ? { ...view.result, found: null } : view.result];
    }),
  );
}

/**
 * Where a transaction was found, under the hash that was asked for; null: nowhere. A ledger is final when it is closed, and nodes name no hash beside a
 * transaction, so its number stands for it. The fee of somebody else's fee bump is not ours.
 */
export function receiptFrom(hash: string, { found }: NodeView): Receipt | null {
  if (found === null) return null;
  const { ledger, succeeded, facts } = found;
  const receipt: Receipt = { hash, blockNumber: ledger, blockHash: ledgerName(ledger), succeeded, facts };
  return found.hash === hash ? receipt : withoutFee(receipt);
}

/** The same, paid by somebody else. */
export function withoutFee(receipt: Receipt): Receipt {
  return receipt.facts === null ? receipt : { ...receipt, facts: { ...receipt.facts, feeChargedStroops: 0n } };
}

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
