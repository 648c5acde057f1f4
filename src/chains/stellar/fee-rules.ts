import type { StellarBid } from '../../core/transaction/stellar.js';

/** What a ledger takes at least for each operation (stellar-core, the header's `baseFee`; the same on all networks since they began). */
export const baseFeeStroops = 100n;

/** So many times an earlier bid does a version bid that replaces it in a node's queue (stellar-core, `TransactionQueue::FEE_MULTIPLIER`). */
const replacementFactor = 10n;

/** What a version bids for its inclusion: the fee without the resource fee of contracts, which nodes do not compare. */
export function inclusionFeeOf({ feeStroops, resourceFeeStroops }: StellarBid): bigint {
  return feeStroops - resourceFeeStroops;
}

/**
 * The least inclusion fee, in stroops, of a fee bump that takes the place of these bids: for each operation ten times what each of them bids for one.
 * `operationCount` is that of the fee bump. (stellar-core, `canReplaceByFee`.)
 */
export function leastReplacementStroops(bids: readonly StellarBid[], operationCount: number): bigint {
  return greatest(
    bids.map((bid) => ceilDivide(inclusionFeeOf(bid) * replacementFactor * BigInt(operationCount), BigInt(bid.operationCount))),
  );
}

/**
 * The least inclusion fee of a fee bump around an envelope: no less for each operation than the envelope itself, nor than a ledger takes.
 * (stellar-core, `FeeBumpTransactionFrame::commonValidPreSeqNum`.)
 */
export function leastBumpStroops(innerInclusionStroops: bigint, innerOperationCount: number): bigint {
  const count = BigInt(innerOperationCount + 1);
  return greatest([baseFeeStroops * count, ceilDivide(innerInclusionStroops * count, BigInt(Math.max(1, innerOperationCount)))]);
}

/**
 * The least inclusion fee of a fee bump around an envelope of `innerOperationCount` operations that bids `innerInclusionStroops`, which takes the place of these
 * bids.
 */
export function leastOutbiddingStroops(bids: readonly StellarBid[], innerInclusionStroops: bigint, innerOperationCount: number): bigint {
  return greatest([leastReplacementStroops(bids, innerOperationCount + 1), leastBumpStroops(innerInclusionStroops, innerOperationCount)]);
}

function greatest(amounts: readonly bigint[]): bigint {
  return amounts.reduce((most, amount) => (amount > most ? amount : most), 0n);
}

function ceilDivide(amount: bigint, by: bigint): bigint {
  return (amount + by - 1n) / by;
}
