import type { DraftRequest, Refusal } from '../../core/ports/chain/drafts.js';
import { max } from '../../core/records/bigints.js';
import type { EvmContent, EvmDraft } from '../../core/records/evm.js';
import { onNetwork } from '../../core/records/on-network.js';
import type { EvmPolicies } from '../../core/records/relayer.js';
import type { CostBound } from '../../core/records/spending-rule.js';
import { fillerBound } from '../../core/rules/cost-bound.js';
import { type CostedPrice, withinMaxCost } from './fee-ceiling.js';
import type { Market } from './market.js';
import type { PublishingFee, Unpublished } from './publishing-fee.js';
import { costBoundOf } from './rules.js';

/* What an attempt costs beside its price, and what a rule lets it cost. */

/** What a rule lets content cost, or what takes its slot. */
export interface BoundedCosts {
  /** Null: any amount. */
  readonly bound: CostBound | null;
  /** The value of the content. */
  readonly boundValueWei: bigint;
}

/** The bound of content. A self-transfer has the bound of its slot. */
export function costsOf({ content, insteadOf, approvals = 0 }: DraftRequest, { rules }: EvmPolicies): BoundedCosts {
  if (content !== 'filler') return boundedCosts(onNetwork('evm', content), rules, approvals);
  return insteadOf === undefined ? { bound: null, boundValueWei: 0n } : fillerCosts(onNetwork('evm', insteadOf), rules);
}

/** See `costBoundOf`. */
export function boundedCosts(content: EvmContent, rules: EvmPolicies['rules'], approvals: number): BoundedCosts {
  return { bound: costBoundOf(rules, content, approvals > 0 ? 'approved' : null), boundValueWei: content.valueWei };
}

/** The bound of a self-transfer in the slot of content, which has no value: see `fillerBound`. */
export function fillerCosts({ maxCost }: EvmContent, rules: EvmPolicies['rules']): BoundedCosts {
  const now = rules?.find(({ id }) => id === maxCost?.ruleId)?.maxCostWei ?? null;
  return { bound: fillerBound(maxCost, now), boundValueWei: 0n };
}

/** How often a price is lowered again because its own L1 fee is higher. */
const maxLowerings = 3;

/** An attempt, and what its slot may cost. */
interface SlotCosts extends BoundedCosts, Pick<CostedPrice, 'outbids' | 'isFiller' | 'isCallers'> {
  /** The L1 fee of the attempt that it outbids; absent: there is none. */
  readonly liveFeeWei?: bigint;
  /** See `CostedPrice`. Throws `NODE_UNAVAILABLE`. */
  readonly freeingGas: () => Promise<bigint>;
}

/**
 * Adds the L1 fee to a draft, and lowers its price to what it may cost. Throws `NODE_UNAVAILABLE` if the L1 fee of content that has a bound
 * is unknown, or what a self-transfer in its slot needs.
 */
export async function withPublishingFee(
  { publishingFee, market }: { readonly publishingFee: PublishingFee; readonly market: Market },
  unpublished: Unpublished,
  { bound, boundValueWei, liveFeeWei = 0n, freeingGas: readFreeingGas, ...rest }: SlotCosts,
): Promise<EvmDraft | Refusal> {
  const feeOf = (draft: Unpublished) => (bound === null || rest.isFiller ? publishingFee.of(draft) : publishingFee.known(draft));
  let draft: EvmDraft = { ...unpublished, publishingFeeWei: max(liveFeeWei, await feeOf(unpublished)) };
  if (bound === null) return draft;
  const freeingGas = rest.isFiller ? draft.gasLimit : await readFreeingGas();
  const slot = { ...rest, freeingGas, valueWei: boundValueWei, market };
  for (let lowerings = 0; lowerings <= maxLowerings; lowerings += 1) {
    const { gasLimit, publishingFeeWei, price: before } = draft;
    const price = await withinMaxCost(bound, { ...slot, price: before, gasLimit, publishingFeeWei });
    if ('refused' in price) return price;
    if (price === before) return draft;
    // Other bytes have another L1 fee.
    draft = { ...draft, price, publishingFeeWei: max(publishingFeeWei, await feeOf({ ...unpublished, price })) };
  }
  const sentence = `waiting: its L1 fee is not certain enough for max_cost of the rule ${bound.ruleId}; retrying`;
  return { refused: 'above_max_cost', sentence, lasting: false, ruleId: bound.ruleId };
}
