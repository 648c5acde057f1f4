import { nullIfUnavailable } from '../../core/errors/unavailable.js';
import type { MarketView } from '../../core/ports/chain/chain.js';
import { max } from '../../core/records/bigints.js';
import type { EvmPrice, Speed } from '../../core/records/evm.js';
import type { BlockMemory } from '../../core/work/block-memory.js';
import type { Rpc } from '../rpc/rpc.js';
import { type Block, latestBlockKey } from './answer.js';
import { createConfirmedBaseFee, highestAfter } from './base-fee.js';
import { median, upperMedian } from './median.js';
import type { OwnBids } from './own-bids.js';
import { createPriceBounds } from './price-bounds.js';
import { type FeeHistoryAnswer, questions } from './questions.js';

/**
 * Which price counts if endpoints contradict each other about it, and nothing shows who is right: `lower` for a first bid, since one that
 * is too low costs only time; `higher` for a bid that has waited.
 */
export type Counts = 'lower' | 'higher';

/** Current gas prices and limits. Throws `NODE_UNAVAILABLE`. */
export interface Market {
  /** Returns the price of a speed, as a legacy or an EIP-1559 price. `counts`: `lower` if absent. */
  priceOf(speed: Speed, kind: EvmPrice['kind'], counts?: Counts): Promise<EvmPrice>;
  /** The price of a self-transfer, which frees a slot: that of `fast`, or if no node tells one, what takes it into the next block. */
  priceToFree(kind: EvmPrice['kind'], counts?: Counts): Promise<EvmPrice>;
  /** The next block's base fee in wei per gas, of what most endpoints show; null if the network has none. */
  baseFeeWei(counts?: Counts): Promise<bigint | null>;
  /** Null: the network shows none. */
  blockGasLimit(): Promise<bigint | null>;
  /** The price of every speed, and the base fee. */
  view(kind: EvmPrice['kind']): Promise<MarketView>;
  /** Takes note that a node refused a bid as below its minimum. */
  demanded(): void;
}

/** From the lowest price to the highest. */
export const speeds: readonly Speed[] = ['safeLow', 'average', 'fast', 'fastest'];
const blocksOfHistory = 4n;
/** The percentile of priority fees that a speed pays. */
const percentiles: Readonly<Record<Speed, number>> = { safeLow: 30, average: 50, fast: 85, fastest: 99 };
/** The percentage that a speed pays of a price for all speeds: of `eth_gasPrice`, or of a suggested priority fee. */
const percentOfSuggested: Readonly<Record<Speed, bigint>> = { safeLow: 100n, average: 125n, fast: 150n, fastest: 200n };

/** The dependencies of `createMarket`. */
export interface MarketDeps {
  readonly rpc: Rpc;
  readonly memory: BlockMemory;
  readonly isEip1559: boolean;
  readonly ownBids: OwnBids;
  readonly nowMs: () => number;
}

/**
 * Reads prices once per block, so that many sends cost few calls, and from several endpoints, so that no single one sets the price. The
 * service's own transactions do not count.
 */
export function createMarket({ rpc, memory, isEip1559, ownBids, nowMs }: MarketDeps): Market {
  const latest = (): Promise<Block> => memory.recall(latestBlockKey, () => rpc.ask(questions.head()));
  const history = (): Promise<FeeHistory> => memory.recall('fee history', () => readFeeHistory().catch(withoutHistory));
  const gasPrice = (): Promise<GasPrice> => memory.recall('gas price', readGasPrice);

  const confirmBaseFee = createConfirmedBaseFee(rpc, latest);
  const confirmedBaseFee = (): Promise<bigint> => memory.recall('confirmed base fee', confirmBaseFee);

  async function readGasPrice(): Promise<GasPrice> {
    const [prices, baseFeeWei] = await Promise.all([rpc.opinions(questions.gasPrice()), confirmedBaseFee()]);
    // No block takes less than its base fee. Without a price that does pay it, the highest base fee of the next block does.
    const paying = prices.filter((one) => one >= baseFeeWei);
    const most = highestAfter(baseFeeWei);
    const [least, greater] = [median(paying) ?? most, upperMedian(paying) ?? most];
    const lower = ownBids.leftOut('gas price', least - baseFeeWei);
    return { baseFeeWei, aboveWei: { lower, higher: greater === least ? lower : greater - baseFeeWei } };
  }

  /** A legacy price is paid as a whole, so what nodes say above the base fee is bounded as it will be paid. */
  async function legacyPriceOf(speed: Speed, counts: Counts): Promise<bigint> {
    const { baseFeeWei, aboveWei } = await gasPrice();
    const isContested = aboveWei[counts] > aboveWei.lower;
    return scaled(baseFeeWei, speed) + (await bounds.bounded(scaled(aboveWei[counts], speed), isContested));
  }

  /**
   * Reads the fee history. If others paid no priority fee in recent blocks, the node's suggestion counts: it knows the network's minimum.
   */
  async function readFeeHistory(): Promise<FeeHistory> {
    const wanted = speeds.map((speed) => percentiles[speed]);
    const [{ gasLimit, baseFeePerGasWei }, histories] = await Promise.all([
      latest(),
      rpc.opinions(questions.feeHistory(blocksOfHistory, wanted)),
    ]);
    const baseFeesWei = await nextBaseFees(
      baseFeePerGasWei,
      histories.map(({ nextBaseFeeWei }) => nextBaseFeeWei),
    );
    const paid = histories.map((history) => paidByOthers(history, (block, ratio) => shareOf(ownBids.gasIn(block), ratio, gasLimit)));
    const paidBy = (middle: (values: Medians) => bigint | null): Medians =>
      speeds.map((_, index) => middle(paid.map((medians) => medians[index] ?? null)));
    const [lowerPaid, higherPaid] = [paidBy(median), paidBy(upperMedian)];
    const suggested = isPaid(lowerPaid) && paid.every(isPaid) ? null : await suggestedPriority(baseFeesWei.lower);
    const lower = risingPriorities(lowerPaid, isPaid(lowerPaid) ? null : (suggested?.lower ?? null));
    const higher = risingPriorities(higherPaid, suggested?.higher ?? null);
    const priorityWei = { lower: zeroPriorities(), higher: zeroPriorities() };
    for (const speed of speeds) {
      priorityWei.lower[speed] = await bounds.bounded(lower[speed]);
      const isContested = higher[speed] > lower[speed];
      priorityWei.higher[speed] = isContested
        ? max(priorityWei.lower[speed], await bounds.bounded(higher[speed], isContested))
        : priorityWei.lower[speed];
    }
    return { baseFeesWei, priorityWei };
  }

  /**
   * The base fee of the next block, by the newest one. If an opinion contradicts that block, the blocks of several endpoints count: what
   * most show, or both of two.
   */
  async function nextBaseFees(said: bigint | null, opinions: readonly bigint[]): Promise<Both> {
    const isFit = opinions.length > 0 && opinions.every((one) => one <= (said ?? 0n) * fitFactor && one * fitFactor >= (said ?? 0n));
    const blocks = isFit || rpc.isSingle() ? [] : await rpc.opinions(questions.head()).catch(() => []);
    const shown = blocks.length === 0 ? [said] : blocks.map(({ baseFeePerGasWei }) => baseFeePerGasWei);
    return {
      lower: nextAfter(median(shown), median(opinions) ?? median(shown) ?? 0n),
      higher: nextAfter(upperMedian(shown), upperMedian(opinions) ?? upperMedian(shown) ?? 0n),
    };
  }

  /** The priority fee that nodes suggest; 0 on a network that charges nothing for gas; null if none knows. */
  async function suggestedPriority(baseFeeWei: bigint): Promise<Both | null> {
    if (baseFeeWei === 0n && isFree(await gasPrice().catch(() => null))) return { lower: 0n, higher: 0n };
    const suggestions = await rpc.opinions(questions.priorityFee()).catch(() => []);
    const [least, most] = [median(suggestions), upperMedian(suggestions)];
    if (least === null || most === null) return null;
    const lower = ownBids.leftOut('priority fee', least);
    return { lower, higher: most === least ? lower : most };
  }

  /** Derives the same from older methods, for nodes without fee histories. If no node works, these fail as well. */
  async function withoutHistory(): Promise<FeeHistory> {
    const [{ baseFeePerGasWei }, price] = await Promise.all([latest(), gasPrice()]);
    const baseFeesWei = await nextBaseFees(baseFeePerGasWei, []);
    const suggestedWei = price.baseFeeWei + price.aboveWei.lower - baseFeesWei.lower;
    const priorityWei = zeroPriorities();
    for (const speed of speeds) priorityWei[speed] = await bounds.bounded(scaled(max(0n, suggestedWei), speed));
    return { baseFeesWei, priorityWei: { lower: priorityWei, higher: priorityWei } };
  }

  const bounds = createPriceBounds({ rpc, memory, ownBids, latest, nowMs });
  const market: Market = {
    async priceOf(speed, kind, counts = 'lower') {
      if (kind === 'legacy') return { kind, gasPriceWei: await legacyPriceOf(speed, counts) };
      const known = await history();
      const [baseFeeWei, priorityWei] = [known.baseFeesWei[counts], known.priorityWei[counts][speed]];
      // Twice the base fee stays sufficient for six full blocks in a row.
      return { kind, maxFeePerGasWei: baseFeeWei * 2n + priorityWei, maxPriorityFeePerGasWei: priorityWei };
    },
    async priceToFree(kind, counts) {
      const price = await market.priceOf('fast', kind, counts).catch(nullIfUnavailable);
      if (price !== null) return price;
      const priorityWei = defaultPriorityWei('fast');
      const baseFeeWei = await confirmedBaseFee();
      if (kind === 'legacy') return { kind, gasPriceWei: highestAfter(baseFeeWei) + priorityWei };
      return { kind, maxFeePerGasWei: baseFeeWei * 2n + priorityWei, maxPriorityFeePerGasWei: priorityWei };
    },
    // A network without EIP-1559 transactions may have base fees, but need not support fee histories.
    async baseFeeWei(counts = 'lower') {
      const known = isEip1559 ? await history().catch(nullIfUnavailable) : null;
      if (known !== null) return known.baseFeesWei[counts];
      const confirmedWei = await confirmedBaseFee();
      return confirmedWei > 0n ? confirmedWei : (await latest()).baseFeePerGasWei === null ? null : 0n;
    },
    blockGasLimit: async () => (await latest()).gasLimit,
    demanded: bounds.demanded,
    async view(kind) {
      const baseFeeWei = await market.baseFeeWei();
      const prices = await Promise.all(speeds.map(async (speed) => ({ speed, price: await market.priceOf(speed, kind) })));
      return { baseFeeWei, prices };
    },
  };
  return market;
}

/** The base fee stands in the newest block, and the next one differs from it by at most an eighth: no opinion beats that. */
function nextAfter(baseFeeWei: bigint | null, opinion: bigint): bigint {
  if (baseFeeWei === null || baseFeeWei === 0n) return opinion;
  const [least, most] = [(baseFeeWei * 7n) / 8n, highestAfter(baseFeeWei)];
  return opinion < least ? least : opinion > most ? most : opinion;
}

/** Endpoints that are a few blocks apart differ by less, and a bid has room for as much. */
const fitFactor = 2n;

function scaled(wei: bigint, speed: Speed): bigint {
  return (wei * percentOfSuggested[speed]) / 100n;
}

/** Wei per gas. They differ only if endpoints contradict each other. */
type Both = Readonly<Record<Counts, bigint>>;

/** What nodes suggest for a legacy price, in wei per gas: the base fee, and what is above it. */
interface GasPrice {
  readonly baseFeeWei: bigint;
  readonly aboveWei: Both;
}

function isFree(price: GasPrice | null): boolean {
  return price !== null && price.baseFeeWei === 0n && price.aboveWei.higher === 0n;
}

/** What others paid, by speed; null: nothing. */
type Medians = readonly (bigint | null)[];

type Priorities = Record<Speed, bigint>;

interface FeeHistory {
  /** The next block's. */
  readonly baseFeesWei: Both;
  readonly priorityWei: Readonly<Record<Counts, Readonly<Priorities>>>;
}

function zeroPriorities(): Priorities {
  return { safeLow: 0n, average: 0n, fast: 0n, fastest: 0n };
}

function isPaid(medians: Medians): boolean {
  return medians.some((medianWei) => medianWei !== null);
}

/**
 * The priority fee of each speed: what others paid, or if that is more, or nothing, what the node suggests; without both, a default. The
 * medians of different percentiles leave out different blocks, so a slower speed could cost more.
 */
function risingPriorities(paidWei: Medians, suggestedWei: bigint | null): Priorities {
  const priorities = zeroPriorities();
  let slower = 0n;
  for (const [index, speed] of speeds.entries()) {
    const suggested = suggestedWei === null ? null : scaled(suggestedWei, speed);
    const priority = max(paidWei[index] ?? suggested ?? defaultPriorityWei(speed), suggested ?? 0n);
    slower = max(priority, slower);
    priorities[speed] = slower;
  }
  return priorities;
}

/** The share of a block's gas that is ours, from 0 to 1. A block without gas has nothing of others. */
function shareOf(ownGas: bigint, gasUsedRatio: number, gasLimit: bigint | null): number {
  if (ownGas === 0n) return 0;
  const gasUsed = gasUsedRatio * Number(gasLimit ?? 0n);
  return gasUsed > 0 ? Number(ownGas) / gasUsed : 1;
}

/**
 * Returns the median priority fee of each speed; null if others paid none. A block in which our share of the gas reaches from the speed's
 * percentile to the top is left out: others may have paid less.
 */
function paidByOthers({ blocks }: FeeHistoryAnswer, ownShareOf: (block: bigint, gasUsedRatio: number) => number): Medians {
  const rows = blocks.map(({ number, rewardsWei, gasUsedRatio }) => ({ rewardsWei, ownShare: ownShareOf(number, gasUsedRatio) }));
  return speeds.map((speed, index) => {
    const ofOthers = rows.filter(({ ownShare }) => ownShare < 1 - percentiles[speed] / 100);
    return medianOfPaid(ofOthers.map(({ rewardsWei }) => rewardsWei[index] ?? 0n));
  });
}

/**
 * Blocks without priority fees are left out: they say nothing about the market. The median and not the mean, since one block whose only
 * transaction paid an absurd fee must not set the price.
 */
function medianOfPaid(rewards: readonly bigint[]): bigint | null {
  return median(rewards.filter((reward) => reward > 0n));
}

/** The priority fee if recent blocks paid none and the node suggests none: from 0.3 gwei (`safeLow`) to 0.99 gwei (`fastest`). */
function defaultPriorityWei(speed: Speed): bigint {
  return BigInt(percentiles[speed]) * 10_000_000n;
}
