import type { Refusal } from '../../core/ports/chain.js';
import type { StellarPolicies } from '../../core/relayer/relayer.js';
import type { StellarBid } from '../../core/transaction/stellar.js';

/** The inputs of a price. Amounts are inclusion fees unless the field says otherwise. */
export interface PriceRequest {
  readonly policies: StellarPolicies;
  /** The caller's limit for the whole fee; null if none was set. */
  readonly maxFeeStroops: bigint | null;
  readonly resourceFeeStroops: bigint;
  /** As nodes count: a fee-bump envelope adds one. */
  readonly operationCount: number;
  /** The minimum that the network requires and that outbids earlier attempts. */
  readonly minStroops: bigint;
  readonly bidPerOperationStroops: bigint;
  /** True if the bid may exceed the limit up to the minimum, because the slot must become free. */
  readonly isFiller: boolean;
}

/** The limit if the caller sets none; the resource fee of contracts comes on top. */
const defaultCeilingStroops = 1_000_000n;

/** Prices an attempt at the market bid, but at least the minimum and within the fee limit. */
export function priceAttempt(request: PriceRequest): StellarBid | Refusal {
  const { policies, maxFeeStroops, resourceFeeStroops, operationCount, minStroops, isFiller } = request;
  const bid = (inclusionStroops: bigint): StellarBid => ({
    feeStroops: inclusionStroops + resourceFeeStroops,
    resourceFeeStroops,
    operationCount,
  });
  const named = maxFeeStroops ?? defaultCeilingStroops + resourceFeeStroops;
  const ceiling = policies.maxFeeStroops !== null && policies.maxFeeStroops < named ? policies.maxFeeStroops : named;
  const market = request.bidPerOperationStroops * BigInt(operationCount);
  const wanted = market > minStroops ? market : minStroops;
  if (wanted + resourceFeeStroops <= ceiling) return bid(wanted);
  const maxStroops = ceiling - resourceFeeStroops;
  if (maxStroops >= minStroops) return bid(maxStroops);
  if (isFiller) return bid(minStroops);
  const isNamed = ceiling === maxFeeStroops;
  const bound = isNamed ? 'max_fee' : ceiling === named ? 'the default max_fee' : "the relayer's policy max_fee";
  const sentence = `${bound} allows a fee of ${ceiling} stroops; this transaction needs at least ${minStroops + resourceFeeStroops}`;
  const metadata = {
    minimum_stroops: String(minStroops + resourceFeeStroops),
    ...(isNamed ? { max_fee_stroops: String(ceiling) } : { cap_stroops: String(ceiling) }),
  };
  return { refused: isNamed ? 'underpriced' : 'above_cap', sentence, lasting: true, metadata };
}
