import type { Anvil } from './anvil.js';

/** A mined transaction. */
export interface MinedTransaction {
  /** Lower-case hex with `0x`. */
  readonly hash: string;
  readonly nonce: number;
  /** Lower case; null for a contract creation. */
  readonly to: string | null;
  readonly value: bigint;
  /** Call data, lower-case hex with `0x`. */
  readonly input: string;
  readonly blockNumber: number;
  readonly succeeded: boolean;
}

/** The transactions of one account in the blocks. */
export interface Ledger {
  /** Number of the newest block. */
  readonly height: number;
  /** All transactions of the account, in block order. */
  readonly transactions: readonly MinedTransaction[];
  readonly byHash: ReadonlyMap<string, MinedTransaction>;
}

interface RpcTransaction {
  readonly hash: string;
  readonly from: string;
  readonly to: string | null;
  readonly nonce: string;
  readonly value: string;
  readonly input: string;
}

/** Reads all blocks, or the newest `blocks`, from the node itself. */
export async function readLedger(anvil: Pick<Anvil, 'rpc'>, account: string, blocks = Number.POSITIVE_INFINITY): Promise<Ledger> {
  const height = Number(await anvil.rpc('eth_blockNumber'));
  const transactions: MinedTransaction[] = [];
  for (let blockNumber = Math.max(0, height - blocks + 1); blockNumber <= height; blockNumber++) {
    const block = (await anvil.rpc('eth_getBlockByNumber', [`0x${blockNumber.toString(16)}`, true])) as {
      readonly transactions: readonly RpcTransaction[];
    };
    for (const { hash, from, to, nonce, value, input } of block.transactions) {
      if (from.toLowerCase() !== account.toLowerCase()) continue;
      const { status } = (await anvil.rpc('eth_getTransactionReceipt', [hash])) as { readonly status: string };
      const succeeded = Number(status) === 1;
      transactions.push({ hash, nonce: Number(nonce), to: to?.toLowerCase() ?? null, value: BigInt(value), input, blockNumber, succeeded });
    }
  }
  return { height, transactions, byHash: new Map(transactions.map((transaction) => [transaction.hash, transaction])) };
}
