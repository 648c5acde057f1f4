import type { Head } from '../../core/ports/chain/head.js';
import { objectFrom } from '../rpc/answer.js';
import { MalformedAnswerError } from '../rpc/node-error.js';

/** Reads a JSON-RPC quantity. Throws `MalformedAnswerError`. */
export function quantityFrom(value: unknown, what: string): bigint {
  if (typeof value !== 'string' || !/^0x[0-9a-f]{1,64}$/i.test(value)) throw new MalformedAnswerError(what);
  return BigInt(value);
}

/** Reads 32 bytes of hex and converts them to lower case. Throws `MalformedAnswerError`. */
export function hashFrom(value: unknown, what: string): string {
  if (typeof value !== 'string' || !/^0x[0-9a-f]{64}$/i.test(value)) throw new MalformedAnswerError(what);
  return value.toLowerCase();
}

/** Writes a number as a JSON-RPC quantity. */
export function quantityOf(value: bigint): string {
  return `0x${value.toString(16)}`;
}

/** The fields of a block that the service uses. */
export interface Block extends Head {
  /** Null: the node does not show it. */
  readonly parentHash: string | null;
  /** In wei per gas; null if the network has no base fee. */
  readonly baseFeePerGasWei: bigint | null;
  /** Null: the node shows none, or 0. */
  readonly gasLimit: bigint | null;
}

/** The key of the newest block in the block memory. */
export const latestBlockKey = 'latest block';

/** Old blocks of some networks have no gas limit, and others have the limit 0. */
function gasLimitFrom(value: unknown): bigint | null {
  const limit = value === undefined || value === null ? 0n : quantityFrom(value, 'block gas limit');
  return limit === 0n ? null : limit;
}

/** Reads a block from a node's answer. Throws `MalformedAnswerError`. */
export function blockFrom(value: unknown): Block {
  const block = objectFrom(value, 'block');
  const baseFee = block.baseFeePerGas;
  return {
    number: quantityFrom(block.number, 'block number'),
    hash: hashFrom(block.hash, 'block hash'),
    parentHash: block.parentHash === undefined || block.parentHash === null ? null : hashFrom(block.parentHash, 'parent hash'),
    baseFeePerGasWei: baseFee === undefined || baseFee === null ? null : quantityFrom(baseFee, 'base fee'),
    timestampMs: Number(quantityFrom(block.timestamp, 'block timestamp')) * 1000,
    gasLimit: gasLimitFrom(block.gasLimit),
  };
}
