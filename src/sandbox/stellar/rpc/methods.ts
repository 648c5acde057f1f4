import { xdr } from '@stellar/stellar-sdk';
import { remembered } from '../../remembered.js';
import { protocolVersion } from '../closed-ledger.js';
import type { Frame } from '../frame.js';
import type { StellarLedger } from '../ledger.js';
import type { Submission } from '../queue.js';
import { refusal, transactionResult } from '../result.js';
import { feeStats } from './fee-stats.js';
import { findEntry } from './ledger-entries.js';
import { getLatestLedger, getLedgers } from './ledgers.js';
import { type Params, textParam, textsParam } from './params.js';
import { invalidParams, RpcError } from './rpc-error.js';
import { type Restoring, simulateTransaction } from './simulate.js';
import { getTransaction, getTransactions } from './transactions.js';
import { rangeOf, type View } from './view.js';

/** The inputs of a method. */
export interface MethodContext {
  readonly ledger: StellarLedger;
  /** This node's view of the ledger. */
  readonly view: View;
  /** The handling of a sent transaction: queued, dropped after PENDING, or rejected with TRY_AGAIN_LATER. */
  readonly sending: 'queued' | 'dropped' | 'try again later';
  /** This node's own queue accepts only bids of at least this many stroops per operation; 0: all. */
  readonly fullBelowStroops: bigint;
  readonly restoring: Restoring;
}

type Method = (params: Params, context: MethodContext) => object;

/** JSON-RPC methods of stellar-rpc, by name; params are named. Answers are in its shapes, with XDR as base64. */
export const methods: Readonly<Record<string, Method>> = {
  getHealth: (_params, { view }) => {
    const { oldest, latest } = rangeOf(view);
    return { status: 'healthy', latestLedger: latest, oldestLedger: oldest, ledgerRetentionWindow: latest - oldest + 1 };
  },
  getNetwork: (_params, { ledger }) => ({ passphrase: ledger.passphrase, protocolVersion }),
  getLatestLedger: (_params, { view }) => getLatestLedger(view),
  getLedgers: (params, { view }) => getLedgers(params, view),
  getFeeStats: (_params, { view }) => feeStats(view),
  getLedgerEntries: (params, { view }) => getLedgerEntries(textsParam(params, 'keys'), view),
  getTransaction: (params, { view }) => getTransaction(params, view),
  getTransactions: (params, { view }) => getTransactions(params, view),
  simulateTransaction: (params, { view, ledger, restoring }) => simulateTransaction(params, view, ledger.networkId, restoring),
  sendTransaction,
};

const maxKeys = 200;

/** Returns entries in the order of their keys, without missing ones. */
function getLedgerEntries(keys: readonly string[], { latest }: View): object {
  if (keys.length > maxKeys) throw new RpcError(invalidParams, `key count (${keys.length}) exceeds maximum supported (${maxKeys})`);
  const entries = keys.flatMap((key, index) => {
    const found = findEntry(latest.state, readKey(key, index));
    if (found === null) return [];
    return [
      {
        key,
        xdr: textOf(found.data),
        lastModifiedLedgerSeq: found.modifiedAt,
        ...(found.liveUntil === null ? {} : { liveUntilLedgerSeq: found.liveUntil }),
        extXdr: 'AAAAAA==',
      },
    ];
  });
  return { entries, latestLedger: latest.sequence };
}

const textOf = remembered((data: xdr.LedgerEntryData) => data.toXdr('base64'));

function readKey(key: string, index: number): xdr.LedgerKey {
  try {
    return xdr.LedgerKey.fromXdr(key, 'base64');
  } catch {
    throw new RpcError(invalidParams, `cannot unmarshal key value ${key} at index ${index}`);
  }
}

/** methods/send_transaction.go: the status of a transaction, and for an error its result. */
function sendTransaction(params: Params, context: MethodContext): object {
  const { view } = context;
  const { hash, submission } = submit(textParam(params, 'transaction'), context);
  return {
    status: submission.status,
    hash,
    latestLedger: view.latest.sequence,
    latestLedgerCloseTime: String(view.latest.closeTimeSeconds),
    ...(submission.status === 'ERROR' ? { errorResultXdr: submission.result.toXdr('base64') } : {}),
  };
}

function submit(
  envelope: string,
  { ledger, sending, fullBelowStroops }: MethodContext,
): { readonly hash: string; readonly submission: Submission } {
  const frame = readEnvelope(envelope, ledger);
  const { hash, resourceFeeStroops } = frame;
  if (sending === 'try again later') return { hash, submission: { status: 'TRY_AGAIN_LATER' } };
  const neededStroops = fullBelowStroops * frame.feeOperations;
  if (frame.inclusionFeeStroops < neededStroops) {
    const outcome = refusal('txInsufficientFee', 'fee bump', neededStroops + resourceFeeStroops);
    return { hash, submission: { status: 'ERROR', result: transactionResult(frame, outcome, 0n) } };
  }
  const { submission } = ledger.submit(envelope);
  if (sending === 'dropped') ledger.forget(hash);
  return { hash, submission };
}

function readEnvelope(envelope: string, ledger: StellarLedger): Frame {
  try {
    return ledger.read(envelope);
  } catch {
    throw new RpcError(invalidParams, 'invalid_xdr');
  }
}
