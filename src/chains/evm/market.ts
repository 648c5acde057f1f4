import type { EvmPrice, Speed } from '../../core/transaction/evm.js';
import { listFrom, objectFrom } from '../rpc/answer.js';
import type { BlockMemory } from '../rpc/block-memory.js';
import type { Rpc } from '../rpc/rpc.js';
import { type Block, latestBlockKey, quantityFrom, quantityOf, readBlock } from './answer.js';

/** What blocks cost now. Throws `NODE_UNAVAILABLE`. */
export interface Market {
  /** The price of a speed, as a legacy or an EIP-1559 price. */
  priceOf(speed: Speed, kind: EvmPrice['kind']): Promise<EvmPrice>;
  /** What the next block charges at least, in wei per gas; null where blocks have no base fee. */
  baseFeeWei(): Promise<bigint | null>;
  blockGasLimit(): Promise<bigint>;
}

const speeds: readonly Speed[] = ['safeLow', 'average', 'fast', 'fastest'];
const blocksOfHistory = 4n;
/** The share of transactions, by what they tip, that a speed outbids. */
const percentiles: Readonly<Record<Speed, number>> = { safeLow: 30, average: 50, fast: 85, fastest: 99 };
/** What a speed pays of `eth_gasPrice`, in percent. */
const gasPricePercent: Readonly<Record<Speed, bigint>> = { safeLow: 100n, average: 125n, fast: 150n, fastest: 200n };

/** Prices are remembered per block, so that many sends cost few calls. */
export function createMarket(rpc: Rpc, memory: BlockMemory, isEip1559: boolean): Market {
  const latest = (): Promise<Block> => memory.recall(latestBlockKey, () => readBlock(rpc, 'latest'));
  const history = (): Promise<FeeHistory> => memory.recall('fee history', () => readFeeHistory(rpc));
  const gasPrice = (): Promise<bigint> =>
    memory.recall('gas price', () => rpc.ask('eth_gasPrice', [], (answer) => quantityFrom(answer, 'gas price')));
  return {
    async priceOf(speed, kind) {
      if (kind === 'legacy') return { kind, gasPriceWei: ((await gasPrice()) * gasPricePercent[speed]) / 100n };
      const { nextBaseFeeWei, priorityWei } = await history();
      // Twice the base fee lasts for six full blocks in a row.
      return { kind, maxFeePerGasWei: nextBaseFeeWei * 2n + priorityWei[speed], maxPriorityFeePerGasWei: priorityWei[speed] };
    },
    // A network that takes no EIP-1559 transactions may have base fees, but need not know of fee histories.
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
    // The means of different percentiles leave out different blocks, so a slower speed could come out dearer.
    const priority = meanOfPaid(rows.map((row) => row[index] ?? 0n)) ?? priorityWhenNobodyPaysWei(speed);
    slower = priority > slower ? priority : slower;
    priorityWei[speed] = slower;
  }
  return { nextBaseFeeWei: quantityFrom(baseFees.at(-1), 'base fee'), priorityWei };
}

/** Blocks in which nobody tipped say nothing of what a tip should be. */
function meanOfPaid(rewards: readonly bigint[]): bigint | null {
  const paid = rewards.filter((reward) => reward > 0n);
  return paid.length === 0 ? null : paid.reduce((sum, reward) => sum + reward, 0n) / BigInt(paid.length);
}

/** From 0.3 gwei (`safeLow`) to 0.99 (`fastest`). */
function priorityWhenNobodyPaysWei(speed: Speed): bigint {
  return BigInt(percentiles[speed]) * 10_000_000n;
}
