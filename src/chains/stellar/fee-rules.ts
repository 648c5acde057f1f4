import { max } from '../../core/records/bigints.js';
import type { StellarBid } from '../../core/records/stellar.js';

/** The fee and the reserve that a ledger's header demands. */
export interface LedgerRules {
  /** The minimum fee per operation. */
  readonly baseFeeStroops: bigint;
  /** The reserve per ledger entry of an account. */
  readonly baseReserveStroops: bigint;
}

/** The minimum fee per operation that every network has demanded since it began. */
export const leastBaseFeeStroops = 100n;

/** The maximum fee per operation that the service believes a ledger to demand: one node reports it. */
export const maxBaseFeeStroops = 100n * leastBaseFeeStroops;

/** The rules of all networks for years, for nodes that do not report the header. */
export const usualRules: LedgerRules = { baseFeeStroops: leastBaseFeeStroops, baseReserveStroops: 5_000_000n };

/** An attempt must bid this multiple of the bid that it replaces in a node's queue (stellar-core, `TransactionQueue::FEE_MULTIPLIER`). */
const replacementFactor = 10n;

/** Returns the part of a fee that nodes compare: without the resource fee of contracts. */
export function inclusionFeeOf({ feeStroops, resourceFeeStroops }: StellarBid): bigint {
  return feeStroops - resourceFeeStroops;
}

/**
 * Returns the minimum inclusion fee of a fee-bump envelope that replaces these bids: ten times each bid, compared per operation.
 * `operationCount` is that of the fee-bump envelope. (stellar-core, `canReplaceByFee`.)
 */
export function minReplacementStroops(bids: readonly StellarBid[], operationCount: number): bigint {
  return max(
    0n,
    ...bids.map((bid) => ceilDivide(inclusionFeeOf(bid) * replacementFactor * BigInt(operationCount), BigInt(bid.operationCount))),
  );
}

/**
 * Returns the minimum inclusion fee of a fee-bump envelope: per operation at least the inner envelope's bid and the base fee.
 * (stellar-core, `FeeBumpTransactionFrame::commonValidPreSeqNum`.)
 */
export function minBumpStroops(innerInclusionStroops: bigint, innerOperationCount: number, baseFeeStroops: bigint): bigint {
  const count = BigInt(innerOperationCount + 1);
  return max(baseFeeStroops * count, ceilDivide(innerInclusionStroops * count, BigInt(Math.max(1, innerOperationCount))));
}

/** Returns the minimum inclusion fee of a fee-bump envelope that also replaces these bids. */
export function minOutbiddingStroops(
  bids: readonly StellarBid[],
  innerInclusionStroops: bigint,
  innerOperationCount: number,
  baseFeeStroops: bigint,
): bigint {
  const minStroops = minBumpStroops(innerInclusionStroops, innerOperationCount, baseFeeStroops);
  return max(minReplacementStroops(bids, innerOperationCount + 1), minStroops);
}

/** The operations of a fee bump that does nothing but take a slot. */
const fillerOperations = 2n;

/** Returns the inclusion fee that takes the slot of an attempt with this one. */
export function feeToFree(inclusionStroops: bigint, operationCount: number): bigint {
  return ceilDivide(inclusionStroops * replacementFactor * fillerOperations, BigInt(operationCount));
}

/** Returns the highest inclusion fee of an attempt whose slot this fee takes. */
export function freeableWith(feeStroops: bigint, operationCount: number): bigint {
  return (feeStroops * BigInt(operationCount)) / (replacementFactor * fillerOperations);
}

/** Divides and rounds up. */
export function ceilDivide(amount: bigint, by: bigint): bigint {
  return (amount + by - 1n) / by;
}
