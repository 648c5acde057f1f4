import type { Refusal } from '../../core/ports/chain.js';
import type { StellarPolicies } from '../../core/relayer/relayer.js';
import type { StellarBid } from '../../core/transaction/stellar.js';

/** What a version is priced by. Amounts are inclusion fees in stroops unless said. */
export interface PriceRequest {
  readonly policies: StellarPolicies;
  /** The caller's ceiling of the whole fee; null: none was named. */
  readonly maxFeeStroops: bigint | null;
  readonly resourceFeeStroops: bigint;
  /** As nodes count them: a fee bump is one more. */
  readonly operationCount: number;
  /** What the network, and the versions that are to be outbid, demand at least. */
  readonly leastStroops: bigint;
  readonly bidPerOperationStroops: bigint;
  /** True: the slot must come free, so the ceiling may be passed up to the least. */
  readonly isFiller: boolean;
}

/** The ceiling where the caller names none, beside the resource fee of contracts. */
const defaultCeilingStroops = 1_000_000n;

/** What a version bids: as the market does, at least what is demanded, within the ceiling; or why it cannot. */
export function priceAttempt(request: PriceRequest): StellarBid | Refusal {
  const { policies, maxFeeStroops, resourceFeeStroops, operationCount, leastStroops, isFiller } = request;
  const bid = (inclusionStroops: bigint): StellarBid => ({
    feeStroops: inclusionStroops + resourceFeeStroops,
    resourceFeeStroops,
    operationCount,
  });
  const named = maxFeeStroops ?? defaultCeilingStroops + resourceFeeStroops;
  const ceiling = policies.maxFeeStroops !== null && policies.maxFeeStroops < named ? policies.maxFeeStroops : named;
  const market = request.bidPerOperationStroops * BigInt(operationCount);
  const wanted = market > leastStroops ? market : leastStroops;
  if (wanted + resourceFeeStroops <= ceiling) return bid(wanted);
  const most = ceiling - resourceFeeStroops;
  if (most >= leastStroops) return bid(most);
  if (isFiller) return bid(leastStroops);
  const isNamed = ceiling === maxFeeStroops;
  const bound = isNamed ? 'max_fee' : ceiling === named ? 'max_fee, which is not named,' : "the relayer's policy max_fee";
  const sentence = `${bound} allows a fee of ${ceiling} stroops, but it takes at least ${leastStroops + resourceFeeStroops}`;
  return { refused: isNamed ? 'underpriced' : 'above_cap', sentence, lasting: true };
}
