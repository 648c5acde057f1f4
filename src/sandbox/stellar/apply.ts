import { xdr } from '@stellar/stellar-sdk';
import { commonValid, sourceOf, wrongForm, wrongSignature } from './check-valid.js';
import type { Frame } from './frame.js';
import { operationIdOf } from './operations/claimable-balances.js';
import { rulesOf } from './operations/rules.js';
import { type OperationOutcome, type Outcome, refusal, transactionResult } from './result.js';
import { createSignatureChecker, type SignatureChecker } from './signatures.js';
import { nonRefundableStroops } from './soroban/resource-fee.js';
import { adopt, copyOf, type Header, type LedgerState } from './state.js';

/** A transaction in a ledger. */
export interface AppliedTransaction {
  readonly frame: Frame;
  /** 1 is the first. */
  readonly order: number;
  readonly isSuccess: boolean;
  readonly result: xdr.TransactionResult;
  readonly meta: xdr.TransactionMeta;
  /** The inclusion charge per operation, for fee statistics. */
  readonly inclusionStroopsPerOperation: bigint;
}

/** The inputs of applying a ledger. */
export interface ApplyContext {
  readonly state: LedgerState;
  readonly header: Header;
  readonly networkId: Uint8Array;
  /** The inclusion price per operation of this ledger, which includes no lower bids. */
  readonly chargedPerOperationStroops: bigint;
}

interface Charged {
  readonly frame: Frame;
  readonly chargedStroops: bigint;
  readonly inclusionStroops: bigint;
}

/**
 * Applies a ledger's transactions as stellar-core does (LedgerManagerImpl.cpp: processFeesSeqNums, applyTransactions;
 * TransactionFrame.cpp): first all fees are charged, then all are applied, classic ones before Soroban ones, then Soroban ones get their
 * unused fee refunded. A failed transaction pays, and its sequence number is used.
 */
export function applyTransactions(frames: readonly Frame[], context: ApplyContext): readonly AppliedTransaction[] {
  const inOrder = [...frames].sort(
    (one, other) => Number(one.isSoroban) - Number(other.isSoroban) || (one.fullHash < other.fullHash ? -1 : 1),
  );
  const charged = inOrder.map((frame) => charge(frame, context));
  return charged.map((item, index) => applyOne(item, index + 1, context));
}

/** `processFeeSeqNum`: the ledger's price for each operation and the whole resource fee, even below the reserve. */
function charge(frame: Frame, { state, header, chargedPerOperationStroops }: ApplyContext): Charged {
  const account = state.accounts.get(frame.feeSource);
  if (account === undefined) throw new Error('a transaction in a ledger has a fee source');
  const operations = frame.feeOperations > 1n ? frame.feeOperations : 1n;
  const price = chargedPerOperationStroops * operations;
  const inclusionStroops = frame.inclusionFeeStroops < price ? frame.inclusionFeeStroops : price;
  const fee = inclusionStroops + frame.resourceFeeStroops;
  const chargedStroops = fee < account.balanceStroops ? fee : account.balanceStroops;
  state.accounts.set(frame.feeSource, {
    ...account,
    balanceStroops: account.balanceStroops - chargedStroops,
    modifiedAt: header.sequence,
  });
  return { frame, chargedStroops, inclusionStroops };
}

function applyOne({ frame, chargedStroops, inclusionStroops }: Charged, order: number, context: ApplyContext): AppliedTransaction {
  const { outcome, host } = outcomeOf(frame, context);
  const unusedStroops = frame.isSoroban ? refund(frame, host, context) : 0n;
  return {
    frame,
    order,
    isSuccess: outcome.code === 'txSuccess',
    result: transactionResult(frame, outcome, chargedStroops - unusedStroops),
    meta: metaOf(host),
    inclusionStroopsPerOperation: inclusionStroops / frame.feeOperations,
  };
}

interface Applied {
  readonly outcome: Outcome;
  readonly host: OperationOutcome['host'];
}

function outcomeOf(frame: Frame, context: ApplyContext): Applied {
  const { state, header } = context;
  const checker = createSignatureChecker(frame.innerHash, frame.signatures);
  const validity = { state, header, lowerSeconds: 0n, upperSeconds: 0n };
  const common = commonValid(frame, validity, checker, { paysFee: false });
  if (common.reached !== 'nothing') takeSequence(frame, context);
  if (common.wrong !== null) return { outcome: common.wrong, host: undefined };
  const unsigned = checkSignatures(frame, state, checker);
  return unsigned === null ? applyOperations(frame, context) : { outcome: unsigned, host: undefined };
}

/** `processSeqNum`. */
function takeSequence(frame: Frame, { state, header }: ApplyContext): void {
  const account = state.accounts.get(frame.source);
  if (account === undefined) throw new Error('a valid transaction has a source');
  state.accounts.set(frame.source, {
    ...account,
    sequence: frame.sequence,
    sequenceTimeSeconds: header.closeTimeSeconds,
    sequenceLedger: header.sequence,
    modifiedAt: header.sequence,
  });
}

/** `processSignatures`: checks the signatures of operations again on the current state. */
function checkSignatures(frame: Frame, state: LedgerState, checker: SignatureChecker): Outcome | null {
  const results = frame.transaction.operations.map((operation) => wrongSignature(frame, operation, state, checker));
  const wrong = results.filter((result) => result !== null);
  if (wrong.length > 0) return { of: 'transaction', code: 'txFailed', operations: wrong };
  return checker.allUsed() ? null : refusal('txBadAuthExtra');
}

/** Applies all operations or none: after a failure the others still run for their results, but no change is kept. */
function applyOperations(frame: Frame, { state, header, networkId }: ApplyContext): Applied {
  const scratch = copyOf(state);
  const soroban =
    frame.soroban === null
      ? null
      : { data: frame.soroban, nonRefundableStroops: nonRefundableStroops(frame.soroban.resources, frame.sizeBytes) };
  const outcomes = frame.transaction.operations.map((operation, index): OperationOutcome => {
    const source = sourceOf(frame, operation);
    if (!scratch.accounts.has(source)) return { isSuccess: false, result: xdr.OperationResult.opNoAccount() };
    const form = wrongForm(frame, operation);
    const rules = rulesOf(operation);
    if (form !== null || rules === undefined) return { isSuccess: false, result: form ?? xdr.OperationResult.opNotSupported() };
    const before = copyOf(scratch);
    const outcome = rules.apply(operation.body, {
      state: scratch,
      header,
      source,
      networkId,
      soroban,
      operationId: () => operationIdOf(frame.source, frame.sequence, index),
    });
    if (!outcome.isSuccess) adopt(scratch, before);
    return outcome;
  });
  const isSuccess = outcomes.every((outcome) => outcome.isSuccess);
  // Each sponsorship must end in its transaction.
  if (isSuccess && scratch.futureSponsors.size > 0) return { outcome: refusal('txBadSponsorship'), host: undefined };
  if (isSuccess) adopt(state, scratch);
  const operations = outcomes.map(({ result }) => result);
  return {
    outcome: { of: 'transaction', code: isSuccess ? 'txSuccess' : 'txFailed', operations },
    host: isSuccess ? outcomes[0]?.host : undefined,
  };
}

/** `refundSorobanFee`: refunds the unused refundable part to the payer. */
function refund(frame: Frame, host: OperationOutcome['host'], { state }: ApplyContext): bigint {
  const { soroban } = frame;
  const payer = state.accounts.get(frame.feeSource);
  if (soroban === null || payer === undefined) return 0n;
  const refundable = frame.resourceFeeStroops - nonRefundableStroops(soroban.resources, frame.sizeBytes);
  const unused = refundable - (host?.refundableStroops ?? 0n);
  state.accounts.set(frame.feeSource, { ...payer, balanceStroops: payer.balanceStroops + unused });
  return unused;
}

/** Metadata contains only the return value of a host function, no changes. */
function metaOf(host: OperationOutcome['host']): xdr.TransactionMeta {
  const sorobanMeta =
    host === undefined || host.returnValue === null
      ? null
      : new xdr.SorobanTransactionMetaV2({ ext: xdr.SorobanTransactionMetaExt.v0(), returnValue: host.returnValue });
  return xdr.TransactionMeta.v4(
    new xdr.TransactionMetaV4({
      ext: xdr.ExtensionPoint.v0(),
      txChangesBefore: [],
      operations: [],
      txChangesAfter: [],
      sorobanMeta,
      events: [],
      diagnosticEvents: [],
    }),
  );
}
