import type { BlockRange, SenderTransaction } from '../../core/ports/chain.js';
import { listFrom, objectFrom } from '../rpc/answer.js';
import type { RpcCall } from '../rpc/json-rpc.js';
import { MalformedAnswerError, NodeError, nodeUnavailable } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { hashFrom, quantityFrom, quantityOf } from './answer.js';
import { saysStateIsGone } from './dialect.js';
import type { Receipts } from './receipts.js';

/** Blocks that are searched one by one, where nodes have dropped the state that would lead to the right one. */
const greatestScanBlocks = 64n;
/** Blocks with all their transactions are long answers. */
const blocksPerBatch = 4;

/** The account's nonce after a block, or `pruned` when every node has dropped that state. Throws `NODE_UNAVAILABLE`, also for a block to come. */
export async function readNonceAt(rpc: Rpc, account: string, blockNumber: bigint): Promise<bigint | 'pruned'> {
  const params = [account, quantityOf(blockNumber)];
  try {
    const asking = { first: 'head', unanimous: true } as const;
    return await rpc.call('eth_getTransactionCount', params, (answer) => quantityFrom(answer, 'nonce'), asking);
  } catch (error) {
    if (!(error instanceof NodeError)) throw error;
    if (saysStateIsGone(error.message)) return 'pruned';
    throw nodeUnavailable(error);
  }
}

/**
 * Which transaction of these blocks used the nonce: the first block after which the account's nonce is higher has it. Found by halving, some 60
 * questions at most; below dropped state by looking through the blocks backwards. Throws `NODE_UNAVAILABLE`.
 */
export async function findSenderTransaction(
  rpc: Rpc,
  receipts: Receipts,
  account: string,
  nonce: bigint,
  blocks: BlockRange,
): Promise<SenderTransaction | 'not_found' | 'pruned'> {
  if (blocks.to < blocks.from) return 'not_found';
  const isUsedAfter = async (block: bigint): Promise<boolean | 'pruned'> => {
    if (block < 0n) return false;
    const count = await readNonceAt(rpc, account, block);
    return count === 'pruned' ? count : count > nonce;
  };
  const atEnd = await isUsedAfter(blocks.to);
  if (atEnd === false) return 'not_found';
  if (atEnd === 'pruned') return scanBack(rpc, receipts, account, nonce, blocks);

  let unused = blocks.from - 1n;
  let used = blocks.to;
  let isUnusedKnown = true;
  const atStart = await isUsedAfter(unused);
  if (atStart === true) return 'not_found';
  if (atStart === 'pruned') isUnusedKnown = false;
  while (used - unused > 1n) {
    const middle = (used + unused) / 2n;
    const isUsed = await isUsedAfter(middle);
    if (isUsed === true) used = middle;
    else {
      unused = middle;
      isUnusedKnown = isUsed === false;
    }
  }
  if (isUnusedKnown) return scanBack(rpc, receipts, account, nonce, { from: used, to: used });
  return scanBack(rpc, receipts, account, nonce, { from: blocks.from, to: used });
}

async function scanBack(
  rpc: Rpc,
  receipts: Receipts,
  account: string,
  nonce: bigint,
  { from, to }: BlockRange,
): Promise<SenderTransaction | 'not_found' | 'pruned'> {
  const last = to - greatestScanBlocks + 1n;
  const end = last > from ? last : from;
  let block = to;
  while (block >= end) {
    const numbers: bigint[] = [];
    for (; block >= end && numbers.length < blocksPerBatch; block -= 1n) numbers.push(block);
    for (const answer of await rpc.batch(
      numbers.map((number) => senderCall(number, account, nonce)),
      { first: 'head' },
    )) {
      if ('error' in answer) throw nodeUnavailable(answer.error);
      if (answer.result !== null) return withReceipt(receipts, answer.result);
    }
  }
  return end === from ? 'not_found' : 'pruned';
}

/** A reorganisation between the two questions can take the transaction out of its block: then nothing is known. */
async function withReceipt(receipts: Receipts, hash: string): Promise<SenderTransaction> {
  const receipt = await receipts.one(hash);
  if (receipt === null) throw nodeUnavailable(new Error('a transaction that a block holds has no receipt'));
  const { blockNumber, blockHash, succeeded } = receipt;
  return { hash, blockNumber, blockHash, succeeded };
}

/** The hash of the block's transaction of this account and nonce; null when it has none. */
function senderCall(block: bigint, account: string, nonce: bigint): RpcCall<string | null> {
  const sender = account.toLowerCase();
  return {
    method: 'eth_getBlockByNumber',
    params: [quantityOf(block), true],
    read(answer) {
      for (const one of listFrom(objectFrom(answer, 'block').transactions, 'transactions')) {
        const transaction = objectFrom(one, 'transaction');
        if (typeof transaction.from !== 'string') throw new MalformedAnswerError('transaction');
        if (transaction.from.toLowerCase() !== sender) continue;
        if (quantityFrom(transaction.nonce, 'nonce') === nonce) return hashFrom(transaction.hash, 'transaction hash');
      }
      return null;
    },
  };
}
