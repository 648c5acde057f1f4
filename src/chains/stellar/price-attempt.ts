import type { Refusal } from '../../core/ports/chain/drafts.js';
import { max, min } from '../../core/records/bigints.js';
import type { StellarPolicies } from '../../core/records/relayer.js';
import type { CostBound } from '../../core/records/spending-rule.js';
import type { StellarBid } from '../../core/records/stellar.js';
import { feeToFree, freeableWith } from './fee-rules.js';
import type { Costs } from './rules.js';

/** The inputs of a price. Amounts are inclusion fees unless the field says otherwise. */
export interface PriceRequest {
  readonly policies: StellarPolicies;
  /** The caller's limit for the whole fee; null if none was set. */
  readonly maxFeeStroops: bigint | null;
  /** The minimum, as a node names it. */
  readonly resourceFeeStroops: bigint;
  /** True if the attempt declares the resource fee itself, so that it may be higher. Default false. */
  readonly declaresResourceFee?: boolean;
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

/** The limit of the whole fee if the caller sets none. A node chooses the resource fee of a simulated call, so that counts, too. */
export const defaultMaxFeeStroops = 1_000_000n;

/**
 * The maximum fee without a policy, also if a caller's `max_fee` is higher: 100 XLM. A ledger charges resource fees that an envelope
 * declares.
 */
const defaultMaxCallerFeeStroops = 1_000_000_000n;

/** Returns why no fee of the relayer may be this high, to follow the field's name and a verb; null if one may. */
export function whyAboveMax(feeStroops: bigint, { maxFeeStroops }: StellarPolicies): string | null {
  const maxStroops = maxFeeStroops ?? defaultMaxCallerFeeStroops;
  if (feeStroops <= maxStroops) return null;
  const limit =
    maxFeeStroops === null
      ? `the default maximum is ${maxStroops}: set the relayer's policy max_fee to allow more`
      : `the relayer's policy max_fee allows at most ${maxStroops}`;
  return `${feeStroops} stroops; ${limit}`;
}

/** Returns the limit of the whole fee. */
export function feeLimitOf({ policies, maxFeeStroops }: Pick<PriceRequest, 'policies' | 'maxFeeStroops'>): bigint {
  const named = maxFeeStroops ?? defaultMaxFeeStroops;
  const mostStroops = policies.maxFeeStroops ?? defaultMaxCallerFeeStroops;
  return min(mostStroops, named);
}

function ofPolicies({ maxFeeStroops }: StellarPolicies): string {
  return maxFeeStroops === null ? 'the default maximum' : "the relayer's policy max_fee";
}

/** A price within what a rule lets the transaction cost. */
export interface BoundedPriceRequest extends PriceRequest {
  readonly costs: Costs;
  /** True if another attempt may have to take its slot, for which the rule must leave enough. */
  readonly mustLeaveRoom: boolean;
  /** True if an attempt is live that it replaces. */
  readonly isReplacement: boolean;
}

/**
 * Prices as `priceAttempt` does, within what a rule lets the transaction cost: the attempt, and what takes its slot. What frees a slot that
 * is taken already may cost the whole maximum.
 */
export function priceWithin({ costs, mustLeaveRoom, isReplacement, ...request }: BoundedPriceRequest): StellarBid | Refusal {
  const { bound, valueStroops } = costs;
  if (bound === null) return priceAttempt(request);
  const { operationCount, minStroops, resourceFeeStroops, bidPerOperationStroops, isFiller, takesSlot, maxFeeStroops } = request;
  const count = BigInt(operationCount);
  const feesStroops = max(0n, bound.max - valueStroops);
  const roomStroops = feesStroops - resourceFeeStroops;
  const mostStroops = mustLeaveRoom ? min(roomStroops, freeableWith(feesStroops, operationCount)) : roomStroops;
  const wantedStroops = takesSlot ? max(bidPerOperationStroops * count, minStroops) : minStroops;
  if (isFiller ? minStroops > bound.max : wantedStroops > mostStroops) {
    const toFree = mustLeaveRoom ? feeToFree(wantedStroops, operationCount) : 0n;
    const costStroops = isFiller ? minStroops : valueStroops + max(wantedStroops + resourceFeeStroops, toFree);
    return aboveMaxCost(bound, costStroops, isFiller ? 'filler' : isReplacement ? 'replacement' : 'first');
  }
  const isBelowNamed = feesStroops < (maxFeeStroops ?? defaultMaxFeeStroops);
  return priceAttempt({
    ...request,
    bidPerOperationStroops: min(bidPerOperationStroops, max(0n, mostStroops) / count),
    maxFeeStroops: isBelowNamed ? feesStroops : maxFeeStroops,
  });
}

function aboveMaxCost({ ruleId, max: most }: CostBound, costStroops: bigint, what: 'first' | 'replacement' | 'filler'): Refusal {
  const allowed = `may cost ${costStroops} stroops, and max_cost of the rule ${ruleId} is ${most} stroops`;
  const sentence = {
    first: `waiting: the transaction, or what frees its slot, ${allowed}; will send when the market fee falls`,
    replacement: `a replacement ${allowed}; the current attempt stays live`,
    filler: `what frees its slot ${allowed}; set max_cost higher to free it`,
  }[what];
  return { refused: 'above_max_cost', sentence, lasting: false, ruleId };
}

/** Prices an attempt at the market bid, but at least the minimum and within the fee limit. */
export function priceAttempt(request: PriceRequest): StellarBid | Refusal {
  const { policies, maxFeeStroops, resourceFeeStroops, declaresResourceFee, operationCount, minStroops, isFiller, takesSlot } = request;
  const bid = (inclusionStroops: bigint, marginStroops = 0n): StellarBid => ({
    feeStroops: inclusionStroops + resourceFeeStroops + marginStroops,
    resourceFeeStroops: resourceFeeStroops + marginStroops,
    operationCount,
  });
  const named = maxFeeStroops ?? defaultMaxFeeStroops;
  const ceiling = feeLimitOf(request);
  const market = request.bidPerOperationStroops * BigInt(operationCount);
  const wanted = max(market, minStroops);
  const room = ceiling - wanted - resourceFeeStroops;
  if (room >= 0n) {
    // The ledger has changed when the operation runs, and gives back what is not used.
    const margin = declaresResourceFee === true ? (resourceFeeStroops * BigInt(policies.resourceFeeMarginPercent)) / 100n : 0n;
    // The rest is left for fee bumps.
    return bid(wanted, margin < room / 2n ? margin : room / 2n);
  }
  const maxStroops = ceiling - resourceFeeStroops;
  if (maxStroops >= minStroops && !takesSlot) return bid(maxStroops);
  if (isFiller) return bid(minStroops);
  const isNamed = ceiling === maxFeeStroops;
  const bound = isNamed ? 'max_fee' : ceiling === named ? 'the default max_fee' : ofPolicies(policies);
  if (maxStroops >= minStroops) {
    const sentence = `waiting: the market fee of ${request.bidPerOperationStroops} stroops per operation is above what ${bound} ${ceiling} allows; will send when it falls`;
    return { refused: 'above_cap', sentence, lasting: false };
  }
  const neededStroops = minStroops + resourceFeeStroops;
  // A higher max_fee helps only up to the policy.
  const policyStroops =
    !isNamed && policies.maxFeeStroops !== null && policies.maxFeeStroops < neededStroops ? policies.maxFeeStroops : null;
  const allowed =
    policyStroops === null ? `${bound} allows a fee of ${ceiling}` : `the relayer's policy max_fee allows a fee of ${policyStroops}`;
  const advice = isNamed || policyStroops !== null ? '' : ': set max_fee to that or more';
  const sentence = `${allowed} stroops; this transaction needs at least ${neededStroops}${advice}`;
  const metadata = {
    minimum_stroops: String(neededStroops),
    ...(isNamed ? { max_fee_stroops: String(ceiling) } : { cap_stroops: String(policyStroops ?? ceiling) }),
  };
  return { refused: isNamed ? 'underpriced' : 'above_cap', sentence, lasting: request.isMinimumDoubted !== true, metadata };
}
