import type { Head } from '../../core/ports/chain.js';
import { objectFrom } from '../rpc/answer.js';
import type { Rpc } from '../rpc/rpc.js';
import { hashFrom, quantityFrom } from './answer.js';

/** A block, as far as anything here needs it. */
export interface Block extends Head {
  /** What this block charged at least, in wei per gas; null where blocks have no base fee. */
  readonly baseFeePerGasWei: bigint | null;
  readonly gasLimit: bigint;
}

/** Under which the newest block is remembered. */
export const latestBlockKey = 'latest block';

/** Reads a block by number or tag. Throws `NODE_UNAVAILABLE`. */
export function readBlock(rpc: Rpc, block: string): Promise<Block> {
  return rpc.ask('eth_getBlockByNumber', [block, false], blockFrom);
}

/** Reads a node's block. Throws `MalformedAnswerError`. */
export function blockFrom(value: unknown): Block {
  const block = objectFrom(value, 'block');
  const baseFee = block.baseFeePerGas;
  return {
    number: quantityFrom(block.number, 'block number'),
    hash: hashFrom(block.hash, 'block hash'),
    baseFeePerGasWei: baseFee === undefined || baseFee === null ? null : quantityFrom(baseFee, 'base fee'),
    timestampMs: Number(quantityFrom(block.timestamp, 'block timestamp')) * 1000,
    gasLimit: quantityFrom(block.gasLimit, 'block gas limit'),
  };
}
