import { StrKey, xdr } from '@stellar/stellar-sdk';
import { accountOf, type Frame, isSorobanOperation } from './frame.js';
import { rulesOf } from './operations/rules.js';
import { type Outcome, refusal } from './result.js';
import { createSignatureChecker, type SignatureChecker } from './signatures.js';
import { declaresValidResources } from './soroban/check-resources.js';
import { limits } from './soroban/resource-fee.js';
import { type Account, availableStroops, type Header, type LedgerState, startingSequence } from './state.js';

/** The context in which a transaction is validated. */
export interface ValidityContext {
  readonly state: LedgerState;
  readonly header: Header;
  /** The minimum and maximum offset of the next close time from the header's. */
  readonly lowerSeconds: bigint;
  readonly upperSeconds: bigint;
}

/** The stage that a transaction reached: from `sequence` on it uses its sequence number even if it fails. */
export interface CommonValidity {
  readonly reached: 'nothing' | 'sequence' | 'all';
  /** Null if the transaction is valid. */
  readonly wrong: Outcome | null;
}

/** Returns the minimum inclusion fee in stroops (`getMinInclusionFee`): the base fee per operation; a fee-bump envelope adds one. */
export function minimumInclusionStroops(operations: bigint, header: Header): bigint {
  return (operations > 1n ? operations : 1n) * header.baseFeeStroops;
}

/**
 * True if the envelope is well formed; checked before any fee (`XDRProvidesValidFee`, and the first check of `TransactionQueue::tryAdd`).
 */
export function isWellFormed(frame: Frame): boolean {
  if (frame.fullFeeStroops < 0n || frame.isSoroban !== (frame.soroban !== null)) return false;
  return frame.resourceFeeStroops >= 0n && frame.resourceFeeStroops <= limits.stroops;
}

/**
 * Returns why a ledger would reject a transaction (`checkValid` of TransactionFrame.cpp and FeeBumpTransactionFrame.cpp); null if valid.
 */
export function checkValid(frame: Frame, context: ValidityContext): Outcome | null {
  if (!isWellFormed(frame)) return refusal('txMalformed', frame.isFeeBump ? 'fee bump' : 'transaction');
  if (frame.isFeeBump) {
    const wrong = checkFeeBump(frame, context);
    if (wrong !== null) return wrong;
  }
  const checker = createSignatureChecker(frame.innerHash, frame.signatures);
  const common = commonValid(frame, context, checker, { paysFee: !frame.isFeeBump });
  if (common.wrong !== null) return common.wrong;
  const operations = checkOperations(frame, context.state, checker);
  if (operations !== null) return operations;
  return checker.allUsed() ? null : refusal('txBadAuthExtra');
}

/** Checks the fee-bump envelope itself (`commonValidPreSeqNum` and `commonValid`, FeeBumpTransactionFrame.cpp; CAP-15). */
function checkFeeBump(frame: Frame, { state, header }: ValidityContext): Outcome | null {
  const innerOperations = frame.feeOperations - 1n;
  const minimum = minimumInclusionStroops(frame.feeOperations, header);
  const innerMinimum = minimumInclusionStroops(innerOperations, header);
  if (frame.inclusionFeeStroops < minimum) return refusal('txInsufficientFee', 'fee bump');
  // It must bid at least as much per operation as its inner transaction.
  const needed = frame.innerInclusionFeeStroops * minimum;
  if (frame.inclusionFeeStroops * innerMinimum < needed) {
    return refusal('txInsufficientFee', 'fee bump', (needed + innerMinimum - 1n) / innerMinimum);
  }
  const feeSource = state.accounts.get(frame.feeSource);
  if (feeSource === undefined) return refusal('txNoAccount', 'fee bump');
  const checker = createSignatureChecker(frame.hash, frame.feeBumpSignatures);
  if (!checker.signs(feeSource, 'low')) return refusal('txBadAuth', 'fee bump');
  if (availableStroops(feeSource, header) < frame.fullFeeStroops) return refusal('txInsufficientBalance', 'fee bump');
  return checker.allUsed() ? null : refusal('txBadAuthExtra', 'fee bump');
}

/** Checks the rules of every transaction in stellar-core's order (`commonValidPreSeqNum` and `commonValid`, TransactionFrame.cpp). */
export function commonValid(
  frame: Frame,
  { state, header, lowerSeconds, upperSeconds }: ValidityContext,
  checker: SignatureChecker,
  /** False for an inner transaction, and while a ledger is applied, because the fee is already charged. */
  { paysFee }: { readonly paysFee: boolean },
): CommonValidity {
  const stop = (wrong: Outcome, reached: CommonValidity['reached'] = 'nothing'): CommonValidity => ({ reached, wrong });
  const form = checkForm(frame);
  if (form !== null) return stop(form);
  const { conditions } = frame;
  const closeTime = header.closeTimeSeconds;
  if (conditions.minTimeSeconds > closeTime + lowerSeconds || conditions.minLedger > header.sequence) return stop(refusal('txTooEarly'));
  const isPast = conditions.maxTimeSeconds !== 0n && conditions.maxTimeSeconds < closeTime + upperSeconds;
  if (isPast || (conditions.maxLedger !== 0 && conditions.maxLedger <= header.sequence)) return stop(refusal('txTooLate'));
  const minimum = paysFee ? minimumInclusionStroops(frame.feeOperations, header) : 0n;
  if ((paysFee ? frame.inclusionFeeStroops : frame.innerInclusionFeeStroops) < minimum) return stop(refusal('txInsufficientFee'));
  const account = state.accounts.get(frame.source);
  if (account === undefined) return stop(refusal('txNoAccount'));
  if (!followsSequence(frame, account, header)) return stop(refusal('txBadSeq'));
  if (isTooEarlyForAccount(frame, account, closeTime + lowerSeconds, header.sequence)) {
    return stop(refusal('txBadMinSeqAgeOrGap'), 'sequence');
  }
  if (!checker.signs(account, 'low') || !conditions.extraSigners.every((key) => extraSigns(key, checker))) {
    return stop(refusal('txBadAuth'), 'sequence');
  }
  if (paysFee && availableStroops(account, header) < frame.fullFeeStroops) return stop(refusal('txInsufficientBalance'), 'sequence');
  return { reached: 'all', wrong: null };
}

/** Returns the error that does not depend on the ledger. */
function checkForm(frame: Frame): Outcome | null {
  const operations = frame.transaction.operations;
  if (operations.length === 0) return refusal('txMissingOperation');
  // A Soroban operation must be the only one.
  if (operations.some((operation) => isSorobanOperation(operation) !== frame.isSoroban)) return refusal('txMalformed');
  if (frame.isSoroban && operations.length !== 1) return refusal('txMalformed');
  return frame.isSoroban && !declaresValidResources(frame) ? refusal('txSorobanInvalid') : null;
}

/** `isBadSeq`: must be exactly one above the account's number, unless a minimum is set (CAP-21). */
function followsSequence(frame: Frame, account: Account, header: Header): boolean {
  if (frame.sequence === startingSequence(header.sequence)) return false;
  const { minSequence } = frame.conditions;
  if (minSequence !== null) return account.sequence >= minSequence && account.sequence < frame.sequence;
  return account.sequence + 1n === frame.sequence;
}

function isTooEarlyForAccount({ conditions }: Frame, account: Account, lowerBoundSeconds: bigint, ledger: number): boolean {
  return (
    lowerBoundSeconds - conditions.minSequenceAgeSeconds < account.sequenceTimeSeconds ||
    ledger - conditions.minSequenceLedgerGap < account.sequenceLedger
  );
}

function extraSigns(key: xdr.SignerKey, checker: SignatureChecker): boolean {
  return key.type === 'signerKeyTypeEd25519' && checker.keySigns(StrKey.encodeEd25519PublicKey(key.ed25519.value));
}

/** Checks the form and signatures of each operation (`OperationFrame::checkValid`); reports the first error. */
function checkOperations(frame: Frame, state: LedgerState, checker: SignatureChecker): Outcome | null {
  for (const operation of frame.transaction.operations) {
    const wrong = wrongSignature(frame, operation, state, checker) ?? wrongForm(frame, operation);
    if (wrong !== null) return { of: 'transaction', code: 'txFailed', operations: [wrong] };
  }
  return null;
}

/**
 * Returns why the source's signatures are not enough; null if they are. An account that an earlier operation may create is checked by its
 * key.
 */
export function wrongSignature(
  frame: Frame,
  operation: xdr.Operation,
  state: LedgerState,
  checker: SignatureChecker,
): xdr.OperationResult | null {
  const given = rulesOf(operation)?.level ?? 'medium';
  const level = typeof given === 'function' ? given(operation.body) : given;
  const account = state.accounts.get(sourceOf(frame, operation));
  if (account !== undefined) return checker.signs(account, level) ? null : xdr.OperationResult.opBadAuth();
  const own = ownSourceOf(operation);
  if (own === null) return xdr.OperationResult.opNoAccount();
  return checker.keySigns(accountOf(own)) ? null : xdr.OperationResult.opBadAuth();
}

/** Returns why an operation is invalid; null if valid. */
export function wrongForm(frame: Frame, operation: xdr.Operation): xdr.OperationResult | null {
  const rules = rulesOf(operation);
  if (rules === undefined) return xdr.OperationResult.opNotSupported();
  return rules.check(operation.body, sourceOf(frame, operation))?.result ?? null;
}

/** Returns the account (G...) that an operation acts for. */
export function sourceOf(frame: Frame, operation: xdr.Operation): string {
  const own = ownSourceOf(operation);
  return own === null ? frame.source : accountOf(own);
}

/** The SDK types absent values as null but returns undefined. */
function ownSourceOf(operation: xdr.Operation): xdr.MuxedAccount | null {
  return operation.sourceAccount ?? null;
}
