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
/** The percentage of `eth_gasPrice` that a speed pays. */
const gasPricePercent: Readonly<Record<Speed, bigint>> = { safeLow: 100n, average: 125n, fast: 150n, fastest: 200n };

/** Reads prices once per block, so that many sends cost few calls. */
export function createMarket(rpc: Rpc, memory: BlockMemory, isEip1559: boolean): Market {
  const latest = (): Promise<Block> => memory.recall(latestBlockKey, () => readBlock(rpc, 'latest'));
  const history = (): Promise<FeeHistory> => memory.recall('fee history', () => readFeeHistory(rpc).catch(withoutHistory));
  const gasPrice = (): Promise<bigint> =>
    memory.recall('gas price', () => rpc.ask('eth_gasPrice', [], (answer) => quantityFrom(answer, 'gas price')));

  /** Derives the same from older methods, for nodes without fee histories. If no node works, these fail as well. */
  async function withoutHistory(): Promise<FeeHistory> {
    const [{ baseFeePerGasWei }, price] = await Promise.all([latest(), gasPrice()]);
    const nextBaseFeeWei = baseFeePerGasWei ?? 0n;
    const suggestedWei = price > nextBaseFeeWei ? price - nextBaseFeeWei : 0n;
    const priorityOf = (speed: Speed): bigint => (suggestedWei * gasPricePercent[speed]) / 100n;
    const priorityWei = {
      safeLow: priorityOf('safeLow'),
      average: priorityOf('average'),
      fast: priorityOf('fast'),
      fastest: priorityOf('fastest'),
    };
    return { nextBaseFeeWei, priorityWei };
  }

  return {
    async priceOf(speed, kind) {
      if (kind === 'legacy') return { kind, gasPriceWei: ((await gasPrice()) * gasPricePercent[speed]) / 100n };
      const { nextBaseFeeWei, priorityWei } = await history();
      // Twice the base fee stays sufficient for six full blocks in a row.
      return { kind, maxFeePerGasWei: nextBaseFeeWei * 2n + priorityWei[speed], maxPriorityFeePerGasWei: priorityWei[speed] };
    },
    // A network without EIP-1559 transactions may have base fees, but need not support fee histories.
    baseFeeWei: async () => (isEip1559 ? (await history()).nextBaseFeeWei : (await latest()).baseFeePerGasWei),
    blockGasLimit: async () => (await latest()).gasLimit,
  };
}

interface FeeHistory {
  readonly nextBaseFeeWei: bigint;
  readonly priorityWei: Readonly<Record<Speed, bigint>>;
}

function readFeeHistory(rpc: Rpc): Promise<FeeHistory> {
  const wanted = speeds.map((speed) => percentiles[speed]);
  return rpc.ask('eth_feeHistory', [quantityOf(blocksOfHistory), 'latest', wanted], feeHistoryFrom);
}

function feeHistoryFrom(value: unknown): FeeHistory {
  const answer = objectFrom(value, 'fee history');
  const baseFees = listFrom(answer.baseFeePerGas, 'base fees');
  const rewards = answer.reward === undefined || answer.reward === null ? [] : listFrom(answer.reward, 'rewards');
  const rows = rewards.map((row) => listFrom(row, 'rewards').map((reward) => quantityFrom(reward, 'reward')));
  const priorityWei = { safeLow: 0n, average: 0n, fast: 0n, fastest: 0n };
  let slower = 0n;
  for (const [index, speed] of speeds.entries()) {
    // The means of different percentiles leave out different blocks, so a slower speed could cost more.
    const priority = meanOfPaid(rows.map((row) => row[index] ?? 0n)) ?? defaultPriorityWei(speed);
    slower = priority > slower ? priority : slower;
    priorityWei[speed] = slower;
  }
  return { nextBaseFeeWei: quantityFrom(baseFees.at(-1), 'base fee'), priorityWei };
}

/** Blocks without priority fees are left out: they say nothing about the market. */
function meanOfPaid(rewards: readonly bigint[]): bigint | null {
  const paid = rewards.filter((reward) => reward > 0n);
  return paid.length === 0 ? null : paid.reduce((sum, reward) => sum + reward, 0n) / BigInt(paid.length);
}

/** The priority fee if recent blocks paid none: from 0.3 gwei (`safeLow`) to 0.99 gwei (`fastest`). */
function defaultPriorityWei(speed: Speed): bigint {
  return BigInt(percentiles[speed]) * 10_000_000n;
}
