import { createHash, randomInt } from 'node:crypto';
import type { Refusal } from '../../core/ports/chain/drafts.js';
import { max, min } from '../../core/records/bigints.js';
import { onNetwork } from '../../core/records/on-network.js';
import type { CostBound } from '../../core/records/spending-rule.js';
import { remember } from '../../core/work/remember.js';
import type { Rpc } from '../rpc/rpc.js';
import {
  computeBudgetOf,
  maxFeeOf,
  maxUnitLimit,
  microLamportsPerLamport,
  namedFeeLamports,
  priorityFeeLamports,
  unitLimitOf,
  withComputeBudget,
} from './compute-budget.js';
import type { Market } from './market.js';
import type { Costs } from './rules.js';
import { feeRefusal, type SimulationRequest, simulate } from './simulate.js';
import { type Message, messageBytes, writableAccounts } from './wire.js';

/** The inputs of a price. */
export interface Pricing extends SimulationRequest {
  /** True if the message must not change because it is signed. */
  readonly isFixed: boolean;
  readonly costs: Costs;
  /** See `DraftRequest`. */
  readonly hasWaited: boolean;
}

/** The message to sign and its fee. */
export interface PricedMessage {
  readonly message: Message;
  readonly feeLamports: bigint;
  /** The account's balance after the transaction, as simulated; null: the node does not report it. */
  readonly balanceAfter: bigint | null;
  /** What the transaction takes from the account besides its fee, as simulated; null: the node does not report it. */
  readonly spentLamports: bigint | null;
}

/** Unit limits are random within this range, so that equal transactions get different bytes: see `RecentMessages`. */
const unitLimitRange = 512;
const maxDraws = 16;

/**
 * Simulates and prices a message. If the relayer is the only signer and the message sets no unit price, adds a unit limit and the market's
 * price, if they fit and within the relayer's maximum fee. Throws `NODE_UNAVAILABLE`.
 */
export async function priceAttempt(rpc: Rpc, market: Market, recent: RecentMessages, pricing: Pricing): Promise<PricedMessage | Refusal> {
  const { message, isFixed, relayer, costs } = pricing;
  const policies = onNetwork('solana', relayer.policies);
  const budget = computeBudgetOf(message);
  const named = namedFeeLamports(message);
  // The policies may have changed since the content was accepted.
  if (named > maxFeeOf(policies, message)) return feeRefusal(named, maxFeeOf(policies, message), policies);
  // A caller that sets a price has also chosen the limit.
  const isOpen = !isFixed && budget.unitPriceMicroLamports === null;
  const withBudget = (unitLimit: number, unitPriceMicroLamports: bigint | null): Message | null => {
    const added = { unitLimit: budget.unitLimit === null ? unitLimit : null, unitPriceMicroLamports };
    return withComputeBudget(message, added, policies.maxTxDataSizeBytes);
  };
  const widest = isOpen ? withBudget(maxUnitLimit, 0n) : null;
  const asked = widest === null ? null : market.unitPrice(writableAccounts(message), pricing.hasWaited);
  // The verdict comes first; the price is awaited below.
  asked?.catch(() => undefined);
  const simulation = await simulate(rpc, { ...pricing, message: widest ?? message });
  if ('refused' in simulation) return simulation;
  const { feeLamports: baseFee, after, spentLamports } = simulation;
  // Programs may pay more than the instructions show, such as the rent of accounts that they create.
  const valueLamports = max(costs.valueLamports, (spentLamports ?? baseFee) - baseFee);
  const mostLamports = costs.bound === null ? null : costs.bound.max - valueLamports;
  if (costs.bound !== null && mostLamports !== null && baseFee > mostLamports) return costRefusal(costs.bound, valueLamports + baseFee);
  const maxFeeLamports = min(maxFeeOf(policies, message), mostLamports ?? maxFeeOf(policies, message));
  const priced = (toSign: Message, feeLamports: bigint): PricedMessage => ({
    message: toSign,
    feeLamports,
    balanceAfter: after === null ? null : after.lamports + baseFee - feeLamports,
    spentLamports: spentLamports === null ? null : spentLamports - baseFee,
  });
  if (asked === null) return isFixed || recent.add(message) ? priced(message, baseFee) : sameRefusal;

  const marketPrice = await asked;
  const minLimit = budget.unitLimit ?? Math.max(...simulation.unitsConsumed.map((units) => limitFor(units, unitLimitOf(message, budget))));
  const maxLimit = budget.unitLimit ?? Math.min(maxUnitLimit, minLimit + unitLimitRange - 1);
  for (let draws = 0; draws < maxDraws; draws += 1) {
    const unitLimit = recent.drawLimit(minLimit, maxLimit + 1);
    const affordable = ((maxFeeLamports - baseFee) * microLamportsPerLamport) / BigInt(Math.max(1, unitLimit));
    const unitPrice = min(marketPrice, affordable);
    const budgeted = withBudget(unitLimit, unitPrice === 0n ? null : unitPrice);
    if (budgeted !== null && recent.add(budgeted)) return priced(budgeted, baseFee + priorityFeeLamports(unitPrice, unitLimit));
  }
  return sameRefusal;
}

/**
 * Adds a fifth to the consumed units, because the state may change before the attempt lands. If the node reports none, returns the
 * runtime's default.
 */
function limitFor(unitsConsumed: bigint | null, defaultUnits: number): number {
  if (unitsConsumed === null) return defaultUnits;
  return Math.min(maxUnitLimit, Number((unitsConsumed * 6n) / 5n) + 1_000);
}

function costRefusal({ ruleId, max: most }: CostBound, costLamports: bigint): Refusal {
  const sentence = `waiting: the transaction may cost ${costLamports} lamports, and max_cost of the rule ${ruleId} is ${most} lamports; will send when it costs less`;
  return { refused: 'above_max_cost', sentence, lasting: false, ruleId };
}

const sameRefusal: Refusal = {
  refused: 'reverts',
  sentence: 'identical to another transaction with the newest blockhash',
  lasting: false,
};

/** Recently drafted messages, so that no two transactions are identical to the network. */
export interface RecentMessages {
  /** Returns false if the same message with the same blockhash was added before: both would have one signature and land only once. */
  add(message: Message): boolean;
  /** Returns a random unit limit of at least `least` and below `end`. */
  drawLimit(least: number, end: number): number;
}

/** New messages use the newest blockhash; some drafts may still use earlier ones. */
const blockhashesKept = 8;

/** Creates an empty memory. */
export function createRecentMessages(drawLimit: RecentMessages['drawLimit'] = randomInt): RecentMessages {
  const made = new Map<string, Set<string>>();
  return {
    drawLimit,
    add(message) {
      const digests = made.get(message.blockhash) ?? new Set();
      if (digests.size === 0) remember(made, message.blockhash, digests, blockhashesKept);
      const digest = createHash('sha256').update(messageBytes(message)).digest('base64');
      if (digests.has(digest)) return false;
      digests.add(digest);
      return true;
    },
  };
}
