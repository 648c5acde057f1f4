import { DomainError } from '../../core/errors/errors.js';
import type { BlockRange, Receipt, ReceiptAnswers } from '../../core/ports/chain.js';
import type { MinedFacts } from '../../core/records/transaction.js';
import { monotonicMs } from '../../core/work/clock.js';
import { type Answer, listFrom, objectFrom } from '../rpc/answer.js';
import type { RpcCall } from '../rpc/json-rpc.js';
import { MalformedAnswerError, NodeError } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { hashFrom, quantityFrom, quantityOf } from './answer.js';

/** With this many transactions per block, fetching all receipts of a block costs less than fetching single ones. */
const minHashesPerBlock = 25n;

/** After a node's answer that it has no such method. */
const withoutForMs = 10 * 60_000;

/** Finds receipts of transactions. */
export interface Receipts {
  /** See `Sequence.receipts`. Each is judged alone: one that no node can read delays no other. */
  find(hashes: readonly string[], blocks: BlockRange): Promise<ReceiptAnswers>;
}

/** Fetches single receipts in batches, or all receipts of a block if that costs less and the nodes support it. */
export function createReceipts(rpc: Rpc, nowMs: () => number = monotonicMs): Receipts {
  /** Set when a node lacks the method. The pause ends, since another node may answer behind the same URL. */
  let withoutUntilMs = 0;

  /** Returns the hashes without an answer. */
  async function byHash(hashes: readonly string[], found: Map<string, Receipt>): Promise<ReadonlySet<string>> {
    const settled = await rpc.batch(hashes.map(receiptCall), { first: 'head', shared: true });
    const unanswered = new Set<string>();
    for (const [index, hash] of hashes.entries()) {
      const answer = settled[index];
      if (answer === undefined || 'error' in answer) unanswered.add(hash);
      else if (answer.result !== null) found.set(hash, answer.result);
    }
    return unanswered;
  }

  /** Searches whole blocks. Stops at the first that no node returns, since `byHash` finds the rest. */
  async function byBlock(hashes: readonly string[], { from, to }: BlockRange, found: Map<string, Receipt>): Promise<void> {
    const wanted = new Map(hashes.map((hash) => [hash.toLowerCase(), hash]));
    for (let block = to; block >= from && found.size < wanted.size; block -= 1n) {
      try {
        const receipts = await rpc.call('eth_getBlockReceipts', [quantityOf(block)], blockReceiptsFrom, { first: 'head' });
        for (const receipt of receipts) {
          const hash = wanted.get(receipt.hash);
          if (hash !== undefined) found.set(hash, receipt);
        }
      } catch (error) {
        if (error instanceof DomainError) return;
        if (!(error instanceof NodeError)) throw error;
        if (error.code === -32601 || /method|not supported|unsupported/i.test(error.message)) withoutUntilMs = nowMs() + withoutForMs;
        return;
      }
    }
  }

  return {
    async find(hashes, blocks) {
      const found = new Map<string, Receipt>();
      const count = blocks.to - blocks.from + 1n;
      if (nowMs() >= withoutUntilMs && count > 0n && BigInt(hashes.length) >= minHashesPerBlock * count)
        await byBlock(hashes, blocks, found);
      const missing = hashes.filter((hash) => !found.has(hash));
      return { found, unanswered: missing.length > 0 ? await byHash(missing, found) : new Set() };
    },
  };
}

function receiptCall(hash: string): RpcCall<Receipt | null> {
  return {
    method: 'eth_getTransactionReceipt',
    params: [hash],
    read(answer) {
      const receipt = answer === null ? null : receiptFrom(answer);
      // The answer to another call: a gateway mixed up a batch.
      if (receipt !== null && receipt.hash !== hash.toLowerCase()) throw new MalformedAnswerError('receipt of another transaction');
      return receipt;
    },
  };
}

/** Returns no receipts for an unknown block (null): the node may lag. */
function blockReceiptsFrom(answer: unknown): readonly Receipt[] {
  if (answer === null) return [];
  return listFrom(answer, 'block receipts').flatMap((one) => receiptFrom(one) ?? []);
}

function receiptFrom(answer: unknown): Receipt | null {
  const receipt = objectFrom(answer, 'receipt');
  // Some nodes return a receipt without a block for a pending transaction.
  if (receipt.blockHash === null || receipt.blockNumber === null) return null;
  return {
    hash: hashFrom(receipt.transactionHash, 'transaction hash'),
    blockNumber: quantityFrom(receipt.blockNumber, 'block number'),
    blockHash: hashFrom(receipt.blockHash, 'block hash'),
    succeeded: quantityFrom(receipt.status, 'receipt status') === 1n,
    facts: factsFrom(receipt),
  };
}

/**
 * Returns the gas that the transaction used and the fee that it paid. A malformed fact is unknown: it must not keep the transaction from
 * being settled.
 */
function factsFrom({ gasUsed, effectiveGasPrice, l1Fee, operatorFeeScalar, operatorFeeConstant }: Answer): MinedFacts {
  const used = amountFrom(gasUsed);
  const priceWei = amountFrom(effectiveGasPrice);
  // The fee that a rollup charges on top of gas to publish the transaction.
  const l1FeeWei = amountFrom(l1Fee ?? '0x0');
  // OP stack networks can charge an operator fee too. Receipts have only its parameters, and its formula depends on the network's version.
  const hasOperatorFee = [operatorFeeScalar, operatorFeeConstant].some((parameter) => amountFrom(parameter ?? '0x0') !== 0n);
  const feePaid = used === null || priceWei === null || l1FeeWei === null || hasOperatorFee ? null : used * priceWei + l1FeeWei;
  return { gasUsed: used !== null && used < 2n ** 64n ? used : null, feePaid, returnValueXdr: null };
}

function amountFrom(value: unknown): bigint | null {
  return typeof value === 'string' && /^0x[0-9a-f]{1,32}$/i.test(value) ? BigInt(value) : null;
}
