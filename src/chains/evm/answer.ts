import type { Head } from '../../core/ports/chain.js';
import { objectFrom } from '../rpc/answer.js';
import { MalformedAnswerError } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';

/** Reads a JSON-RPC quantity. Throws `MalformedAnswerError` when it is none. */
export function quantityFrom(value: unknown, what: string): bigint {
  if (typeof value !== 'string' || !/^0x[0-9a-f]{1,64}$/i.test(value)) throw new MalformedAnswerError(what);
  return BigInt(value);
}

/** Reads 32 bytes of hex, into lower case. Throws `MalformedAnswerError` when it is none. */
export function hashFrom(value: unknown, what: string): string {
  if (typeof value !== 'string' || !/^0x[0-9a-f]{64}$/i.test(value)) throw new MalformedAnswerError(what);
  return value.toLowerCase();
}

/** A number as JSON-RPC writes it. */
export function quantityOf(value: bigint): string {
  return `0x${value.toString(16)}`;
}

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
