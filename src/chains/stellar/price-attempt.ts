import type { Refusal } from '../../core/ports/chain.js';
import type { StellarPolicies } from '../../core/relayer/relayer.js';
import type { StellarBid } from '../../core/transaction/stellar.js';

/** The inputs of a price. Amounts are inclusion fees unless the field says otherwise. */
export interface PriceRequest {
  readonly policies: StellarPolicies;
  /** The caller's limit for the whole fee; null if none was set. */
  readonly maxFeeStroops: bigint | null;
  readonly resourceFeeStroops: bigint;
  /** True if others chose the resource fee: then the default limit covers it, too. */
  readonly isForeign: boolean;
  /** As nodes count: a fee-bump envelope adds one. */
  readonly operationCount: number;
  /** The minimum that the network requires and that outbids earlier attempts. */
  readonly minStroops: bigint;
  readonly bidPerOperationStroops: bigint;
  /** True if the bid may exceed the limit up to the minimum, because the slot must become free. */
  readonly isFiller: boolean;
  /** True if the minimum rests on the word of one node: then a limit below it does not last. Default false. */
  readonly isMinimumDoubted?: boolean;
  /** True if the attempt would take a slot: below the market it would keep the slot, and all later transactions, waiting. */
  readonly takesSlot: boolean;
}

/** The limit if the caller sets none. The resource fee of the relayer's own contract calls comes on top. */
export const defaultMaxFeeStroops = 1_000_000n;
/** A node chooses the resource fee of a simulated call: if the caller sets no limit, it may be at most this. */
const maxUnnamedResourceFeeStroops = 100_000_000n;

/** Prices an attempt at the market bid, but at least the minimum and within the fee limit. */
export function priceAttempt(request: PriceRequest): StellarBid | Refusal {
  const { policies, maxFeeStroops, resourceFeeStroops, operationCount, minStroops, isFiller, takesSlot } = request;
  const bid = (inclusionStroops: bigint): StellarBid => ({
    feeStroops: inclusionStroops + resourceFeeStroops,
    resourceFeeStroops,
    operationCount,
  });
  const unnamedResourceStroops = resourceFeeStroops < maxUnnamedResourceFeeStroops ? resourceFeeStroops : maxUnnamedResourceFeeStroops;
  const named = maxFeeStroops ?? defaultMaxFeeStroops + (request.isForeign ? 0n : unnamedResourceStroops);
  const ceiling = policies.maxFeeStroops !== null && policies.maxFeeStroops < named ? policies.maxFeeStroops : named;
  const market = request.bidPerOperationStroops * BigInt(operationCount);
  const wanted = market > minStroops ? market : minStroops;
  if (wanted + resourceFeeStroops <= ceiling) return bid(wanted);
  const maxStroops = ceiling - resourceFeeStroops;
  if (maxStroops >= minStroops && !takesSlot) return bid(maxStroops);
  if (isFiller) return bid(minStroops);
  const isNamed = ceiling === maxFeeStroops;
  const bound = isNamed ? 'max_fee' : ceiling === named ? 'the default max_fee' : "the relayer's policy max_fee";
  if (maxStroops >= minStroops) {
    const sentence = `waiting: the market fee of ${request.bidPerOperationStroops} stroops per operation is above what ${bound} ${ceiling} allows; will send when it falls`;
    return { refused: 'above_cap', sentence, lasting: false };
  }
  const sentence = `${bound} allows a fee of ${ceiling} stroops; this transaction needs at least ${minStroops + resourceFeeStroops}`;
  const metadata = {
    minimum_stroops: String(minStroops + resourceFeeStroops),
    ...(isNamed ? { max_fee_stroops: String(ceiling) } : { cap_stroops: String(ceiling) }),
  };
  return { refused: isNamed ? 'underpriced' : 'above_cap', sentence, lasting: request.isMinimumDoubted !== true, metadata };
}
