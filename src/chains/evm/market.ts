import type { EvmPrice, Speed } from '../../core/transaction/evm.js';
import { listFrom, objectFrom } from '../rpc/answer.js';
import type { BlockMemory } from '../rpc/block-memory.js';
import type { Rpc } from '../rpc/rpc.js';
import { type Block, latestBlockKey, quantityFrom, quantityOf, readBlock } from './answer.js';

/** Current gas prices and limits. Throws `NODE_UNAVAILABLE`. */
export interface Market {
  /** Returns the price of a speed, as a legacy or an EIP-1559 price. */
  priceOf(speed: Speed, kind: EvmPrice['kind']): Promise<EvmPrice>;
  /** The next block's base fee in wei per gas; null if the network has none. */
  baseFeeWei(): Promise<bigint | null>;
  blockGasLimit(): Promise<bigint>;
}

const speeds: readonly Speed[] = ['safeLow', 'average', 'fast', 'fastest'];
const blocksOfHistory = 4n;
/** The percentile of priority fees that a speed pays. */
const percentiles: Readonly<Record<Speed, number>> = { safeLow: 30, average: 50, fast: 85, fastest: 99 };
/** The percentage that a speed pays of a price for all speeds: of `eth_gasPrice`, or of a suggested priority fee. */
const percentOfSuggested: Readonly<Record<Speed, bigint>> = { safeLow: 100n, average: 125n, fast: 150n, fastest: 200n };

/** Reads prices once per block, so that many sends cost few calls, and from several endpoints, so that no single one sets the price. */
export function createMarket(rpc: Rpc, memory: BlockMemory, isEip1559: boolean): Market {
  const latest = (): Promise<Block> => memory.recall(latestBlockKey, () => readBlock(rpc, 'latest'));
  const history = (): Promise<FeeHistory> => memory.recall('fee history', () => readFeeHistory(rpc, gasPrice).catch(withoutHistory));
  const gasPrice = (): Promise<bigint> => memory.recall('gas price', () => medianAmount(rpc, 'eth_gasPrice', 'gas price'));

  /** Derives the same from older methods, for nodes without fee histories. If no node works, these fail as well. */
  async function withoutHistory(): Promise<FeeHistory> {
    const [{ baseFeePerGasWei }, price] = await Promise.all([latest(), gasPrice()]);
    const nextBaseFeeWei = baseFeePerGasWei ?? 0n;
    const suggestedWei = price > nextBaseFeeWei ? price - nextBaseFeeWei : 0n;
    const priorityWei = {
      safeLow: scaled(suggestedWei, 'safeLow'),
      average: scaled(suggestedWei, 'average'),
      fast: scaled(suggestedWei, 'fast'),
      fastest: scaled(suggestedWei, 'fastest'),
    };
    return { nextBaseFeeWei, priorityWei };
  }

  return {
    async priceOf(speed, kind) {
      if (kind === 'legacy') return { kind, gasPriceWei: scaled(await gasPrice(), speed) };
      const { nextBaseFeeWei, priorityWei } = await history();
      // Twice the base fee stays sufficient for six full blocks in a row.
      return { kind, maxFeePerGasWei: nextBaseFeeWei * 2n + priorityWei[speed], maxPriorityFeePerGasWei: priorityWei[speed] };
    },
    // A network without EIP-1559 transactions may have base fees, but need not support fee histories.
    baseFeeWei: async () => (isEip1559 ? (await history()).nextBaseFeeWei : (await latest()).baseFeePerGasWei),
    blockGasLimit: async () => (await latest()).gasLimit,
  };
}

/** Returns the median; of an even number of values the lower one, since a price that is too low costs only time. Null counts as the lowest. */
function median<T extends bigint | null>(values: readonly T[]): T | null {
  const order = (value: T): bigint => value ?? -1n;
  const sorted = values.toSorted((a, b) => (order(a) < order(b) ? -1 : order(a) > order(b) ? 1 : 0));
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? null;
}

/** Reads the median of an amount from several endpoints. Throws `NODE_UNAVAILABLE`. */
async function medianAmount(rpc: Rpc, method: string, what: string): Promise<bigint> {
  return median(await rpc.opinions(method, [], (answer) => quantityFrom(answer, what))) ?? 0n;
}

function scaled(wei: bigint, speed: Speed): bigint {
  return (wei * percentOfSuggested[speed]) / 100n;
}

interface FeeHistory {
  readonly nextBaseFeeWei: bigint;
  readonly priorityWei: Readonly<Record<Speed, bigint>>;
}

/** Reads the fee history. If recent blocks paid no priority fee, the node's suggestion counts: it knows the network's minimum. */
async function readFeeHistory(rpc: Rpc, gasPrice: () => Promise<bigint>): Promise<FeeHistory> {
  const wanted = speeds.map((speed) => percentiles[speed]);
  const histories = await rpc.opinions('eth_feeHistory', [quantityOf(blocksOfHistory), 'latest', wanted], feeHistoryFrom);
  const nextBaseFeeWei = median(histories.map((history) => history.nextBaseFeeWei)) ?? 0n;
  const mediansWei = speeds.map((_, index) => median(histories.map((history) => history.mediansWei[index] ?? null)));
  const isPaid = mediansWei.some((medianWei) => medianWei !== null);
  const suggestedWei = isPaid ? null : await suggestedPriority(rpc, nextBaseFeeWei, gasPrice);
  const priorityWei = { safeLow: 0n, average: 0n, fast: 0n, fastest: 0n };
  let slower = 0n;
  for (const [index, speed] of speeds.entries()) {
    // The medians of different percentiles leave out different blocks, so a slower speed could cost more.
    const suggested = suggestedWei === null ? defaultPriorityWei(speed) : scaled(suggestedWei, speed);
    const priority = mediansWei[index] ?? suggested;
    slower = priority > slower ? priority : slower;
    priorityWei[speed] = slower;
  }
  return { nextBaseFeeWei, priorityWei };
}

/** The priority fee that the node suggests; 0 on a network that charges nothing for gas; null if the node does not know. */
async function suggestedPriority(rpc: Rpc, baseFeeWei: bigint, gasPrice: () => Promise<bigint>): Promise<bigint | null> {
  if (baseFeeWei === 0n && (await gasPrice().catch(() => null)) === 0n) return 0n;
  return medianAmount(rpc, 'eth_maxPriorityFeePerGas', 'priority fee').catch(() => null);
}

/** Reads the next base fee, and the median priority fee of each speed; null if the blocks paid none. */
function feeHistoryFrom(value: unknown): { readonly nextBaseFeeWei: bigint; readonly mediansWei: readonly (bigint | null)[] } {
  const answer = objectFrom(value, 'fee history');
  const baseFees = listFrom(answer.baseFeePerGas, 'base fees');
  const rewards = answer.reward === undefined || answer.reward === null ? [] : listFrom(answer.reward, 'rewards');
  const rows = rewards.map((row) => listFrom(row, 'rewards').map((reward) => quantityFrom(reward, 'reward')));
  const mediansWei = speeds.map((_, index) => medianOfPaid(rows.map((row) => row[index] ?? 0n)));
  return { nextBaseFeeWei: quantityFrom(baseFees.at(-1), 'base fee'), mediansWei };
}

/**
 * Blocks without priority fees are left out: they say nothing about the market. The median and not the mean, since one block whose only transaction
 * paid an absurd fee must not set the price.
 */
function medianOfPaid(rewards: readonly bigint[]): bigint | null {
  return median(rewards.filter((reward) => reward > 0n));
}

/** The priority fee if recent blocks paid none and the node suggests none: from 0.3 gwei (`safeLow`) to 0.99 gwei (`fastest`). */
function defaultPriorityWei(speed: Speed): bigint {
  return BigInt(percentiles[speed]) * 10_000_000n;
}
