import type { xdr } from '@stellar/stellar-sdk';
import { checkValid, isWellFormed, minimumInclusionStroops, type ValidityContext } from './check-valid.js';
import type { Frame } from './frame.js';
import { type Outcome, refusal, transactionResult } from './result.js';
import { declaresValidResources } from './soroban/check-resources.js';
import { availableStroops } from './state.js';

/** The answer of a node to a transaction. */
export type Submission =
  | { readonly status: 'PENDING' | 'DUPLICATE' | 'TRY_AGAIN_LATER' }
  | { readonly status: 'ERROR'; readonly result: xdr.TransactionResult };

/** The queue of transactions that wait for a ledger. */
export interface Queue {
  submit(frame: Frame, context: ValidityContext): Submission;
  waiting(): readonly Frame[];
  /** The minimum bid per operation, as if the queue were full; 0 if it is not. */
  setFullBelow(stroopsPerOperation: bigint): void;
  /** Drops and bans invalid transactions. */
  banInvalid(context: ValidityContext): void;
  /** Removes the transactions of a closed ledger, ages the others and drops the oldest. `context` is that after the ledger. */
  closed(applied: readonly Frame[], context: ValidityContext): void;
  /** Drops transactions without a ban, like a restarted node. */
  forget(isForgotten: (frame: Frame) => boolean): void;
}

interface Waiting {
  readonly frame: Frame;
  ageLedgers: number;
}

/** `TransactionQueue::FEE_MULTIPLIER`. */
const replacementFactor = 10n;
/** `TRANSACTION_QUEUE_TIMEOUT_LEDGERS` and `TRANSACTION_QUEUE_BAN_LEDGERS` (herder/HerderImpl.cpp). */
const timeoutLedgers = 4;
const banLedgers = 10;

/**
 * The rules of stellar-core's TransactionQueue (herder/TransactionQueue.cpp: canAdd, canReplaceByFee, isDuplicateTx, removeApplied, ban,
 * shift) and of HerderImpl::recvTransaction, because one transaction per source account may wait. Flooding, lanes and eviction are not
 * modelled: a test sets the queue full.
 */
export function createQueue(): Queue {
  const waiting = new Map<string, Waiting>();
  let fullBelow = 0n;
  /** Banned envelope hashes, newest ledger first. */
  let bans: Set<string>[] = Array.from({ length: banLedgers }, () => new Set());

  const isBanned = (frame: Frame): boolean => bans.some((banned) => banned.has(frame.fullHash));
  const ban = (frame: Frame): void => void bans[0]?.add(frame.fullHash);

  /** An account is in the classic or Soroban queue also if it pays for another account's transaction. */
  const hasPlace = (account: string, isSoroban: boolean): boolean =>
    [...waiting.values()].some(({ frame }) => frame.isSoroban === isSoroban && (frame.source === account || frame.feeSource === account));

  const bidsOf = (feeSource: string, isSoroban: boolean): bigint =>
    [...waiting.values()]
      .filter(({ frame }) => frame.feeSource === feeSource && frame.isSoroban === isSoroban)
      .reduce((sum, { frame }) => sum + frame.fullFeeStroops, 0n);

  /** Returns why a waiting transaction blocks a new one; null if it does not, or is outbid. */
  function judgeBeside(frame: Frame, current: Frame): Submission | Outcome | null {
    if (isDuplicate(current, frame)) return { status: 'DUPLICATE' };
    if (frame.sequence < current.sequence) return refusal('txBadSeq', 'fee bump');
    if (frame.isSoroban && !declaresValidResources(frame)) return refusal('txSorobanInvalid');
    if (!frame.isFeeBump || frame.sequence !== current.sequence) return { status: 'TRY_AGAIN_LATER' };
    const needed = ceilDivide(replacementFactor * current.inclusionFeeStroops * frame.feeOperations, current.feeOperations);
    return frame.inclusionFeeStroops >= needed
      ? null
      : refusal('txInsufficientFee', 'fee bump', needed + frame.fullFeeStroops - frame.inclusionFeeStroops);
  }

  function judge(frame: Frame, context: ValidityContext): Submission | Outcome | null {
    if (hasPlace(frame.source, !frame.isSoroban)) return { status: 'TRY_AGAIN_LATER' };
    if (!isWellFormed(frame) || frame.inclusionFeeStroops < 0n) return refusal('txMalformed', frame.isFeeBump ? 'fee bump' : 'transaction');
    if (isBanned(frame)) return { status: 'TRY_AGAIN_LATER' };
    const current = waiting.get(frame.source)?.frame;
    const beside = current === undefined ? null : judgeBeside(frame, current);
    if (beside !== null) return beside;
    if (frame.inclusionFeeStroops < fullBelow * frame.feeOperations) {
      ban(frame);
      return refusal('txInsufficientFee', 'fee bump', fullBelow * frame.feeOperations + frame.resourceFeeStroops);
    }
    const wrong = checkValid(frame, context);
    if (wrong !== null) return wrong;
    const feeSource = context.state.accounts.get(frame.feeSource);
    if (feeSource === undefined) throw new Error('a valid transaction has a fee source');
    const freed = current?.feeSource === frame.feeSource ? current.fullFeeStroops : 0n;
    const bids = bidsOf(frame.feeSource, frame.isSoroban) + frame.fullFeeStroops - freed;
    // The full bids count, although less may be charged.
    if (availableStroops(feeSource, context.header) < bids) return refusal('txInsufficientBalance', 'fee bump');
    return hasBadSorobanMemo(frame) ? refusal('txSorobanInvalid') : null;
  }

  return {
    submit(frame, context) {
      const judged = judge(frame, context);
      if (judged === null) {
        // A replacement inherits the age of the transaction that it replaces.
        waiting.set(frame.source, { frame, ageLedgers: waiting.get(frame.source)?.ageLedgers ?? 0 });
        return { status: 'PENDING' };
      }
      if ('status' in judged) return judged;
      const minimum = minimumInclusionStroops(frame.feeOperations, context.header) + frame.resourceFeeStroops;
      return { status: 'ERROR', result: transactionResult(frame, judged, minimum) };
    },
    waiting: () => [...waiting.values()].map(({ frame }) => frame),
    setFullBelow(stroopsPerOperation) {
      fullBelow = stroopsPerOperation;
    },
    banInvalid(context) {
      for (const [source, { frame }] of waiting) {
        if (checkValid(frame, context) === null) continue;
        waiting.delete(source);
        ban(frame);
      }
    },
    closed(applied, context) {
      for (const frame of applied) {
        const kept = waiting.get(frame.source);
        if (kept !== undefined && kept.frame.sequence <= frame.sequence) waiting.delete(frame.source);
        ban(frame);
      }
      bans = [new Set(), ...bans.slice(0, banLedgers - 1)];
      for (const [source, entry] of waiting) {
        entry.ageLedgers += 1;
        if (entry.ageLedgers < timeoutLedgers) continue;
        waiting.delete(source);
        ban(entry.frame);
      }
      this.banInvalid(context);
    },
    forget(isForgotten) {
      for (const [source, { frame }] of waiting) if (isForgotten(frame)) waiting.delete(source);
    },
  };
}

/** True for the same envelope or the inner one of a waiting fee-bump envelope. */
function isDuplicate(current: Frame, frame: Frame): boolean {
  if (current.isFeeBump === frame.isFeeBump) return current.fullHash === frame.fullHash;
  return current.isFeeBump && current.innerFullHash === frame.fullHash;
}

/**
 * `validateSorobanMemo`: no memo or muxed accounts if other accounts than the source authorize. Fee-bump envelopes pass, as in
 * stellar-core.
 */
function hasBadSorobanMemo(frame: Frame): boolean {
  const [operation] = frame.transaction.operations;
  if (frame.isFeeBump || !frame.isSoroban || operation === undefined) return false;
  if (operation.body.type !== 'invokeHostFunction') return false;
  const entries = operation.body.invokeHostFunctionOp.auth;
  if (entries.every((entry) => entry.credentials.type === 'sorobanCredentialsSourceAccount')) return false;
  const accounts = [frame.transaction.sourceAccount, operation.sourceAccount];
  return frame.transaction.memo.type !== 'memoNone' || accounts.some((account) => account?.type === 'keyTypeMuxedEd25519');
}

function ceilDivide(value: bigint, by: bigint): bigint {
  return (value + by - 1n) / by;
}
