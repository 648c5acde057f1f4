import type { Receipt, SenderUse } from '../../core/ports/chain/outcomes.js';
import { max } from '../../core/records/bigints.js';
import { type Answer, listFrom, objectFrom } from '../rpc/answer.js';
import { MalformedAnswerError, type NodeError } from '../rpc/node-error.js';
import { question } from '../rpc/question.js';
import { type Block, blockFrom, hashFrom, quantityFrom, quantityOf } from './answer.js';
import { ruleFor } from './broadcast-table.js';
import { isExecutionFailure, isRevert } from './execution-failure.js';
import { intrinsicGas } from './intrinsic-gas.js';
import { blockReceiptsFrom, receiptFrom } from './read-receipt.js';
import { authorityFrom, type ProvedTransaction, senderFrom } from './recover-sender.js';

/** A transaction of an account in a block, and its nonce. */
export interface Use extends Omit<SenderUse, 'timeMs'> {
  readonly nonce: bigint;
}

/** A block's uses of an account's nonces. */
export interface BlockUses {
  /** Returns the use of this nonce; null: there is none, or its signature does not prove it. */
  find(nonce: bigint): Use | null;
  /** True if none of the first uses is proved. */
  isEmpty(): boolean;
}

/** What the fee history of a node shows. */
export interface FeeHistoryAnswer {
  readonly nextBaseFeeWei: bigint;
  readonly blocks: readonly { readonly number: bigint; readonly rewardsWei: readonly bigint[]; readonly gasUsedRatio: number }[];
}

/** What a transaction in a block paid per gas above the base fee. */
export interface PaidPrice {
  readonly hash: string;
  readonly wei: bigint;
}

/** The fields of a call that is simulated or estimated. */
export interface SimulatedCall {
  readonly from: string;
  readonly to: string | null;
  readonly valueWei: bigint;
  readonly data: string | null;
}

const refusesAll = 'NODE_UNAVAILABLE; the next head asks again';
const maxGas = 2n ** 64n;
/** EIP-2681 ends nonces below it. */
const maxNonce = 2n ** 64n;
/** No network has a price per gas near it. */
const maxPriceWei = 2n ** 96n;
/** No account has as much. */
const maxFeeWei = 2n ** 128n;

/** The anchor of a chain: block 0. */
export const genesisAnchor = '';

/** A later block as the anchor, whose hash is not known yet. */
export function anchorAt(height: bigint): string {
  return `${height}:`;
}

/**
 * Every question that the service asks EVM nodes. No other file of the chain knows a method: what a question may decide, whose word counts
 * and what happens without an answer is said here, and the matrix of lies in the tests is generated from it.
 */
export const questions = {
  chainId: question({
    method: 'eth_chainId',
    params: () => [],
    read(result): string {
      if (typeof result !== 'string' && typeof result !== 'number') throw new MalformedAnswerError('chain ID');
      return String(result);
    },
    asks: 'any',
    decides: 'nothing final',
    fallback: 'an endpoint that does not say its chain is not used; another answer leaves it out for a minute',
  }),
  head: question({
    method: 'eth_getBlockByNumber',
    params: () => ['latest', false],
    read: (result): Block => blockFrom(result),
    asks: 'head',
    decides: 'a wait',
    fallback: 'no head: nothing is decided until one is shown',
  }),
  newHeads: question({
    method: 'eth_subscribe',
    params: () => ['newHeads'],
    read: (): null => null,
    asks: 'any',
    decides: 'nothing final',
    fallback: 'the head is polled, as it is in any case',
  }),
  anchor: question({
    method: 'eth_getBlockByNumber',
    params: (anchor: string) => [quantityOf(heightOf(anchor)), false],
    read: (result, anchor): string | null => anchorFrom(blockAt(heightOf(anchor), result)),
    asks: 'several',
    decides: 'nothing final',
    fallback:
      'the chain ID alone identifies the network; if no endpoint ever showed block 0, a later block is the anchor; if as many show another one, the network waits',
  }),
  block: question({
    method: 'eth_getBlockByNumber',
    params: (height: bigint) => [quantityOf(height), false],
    read: (result, height): Block | null => blockAt(height, result),
    asks: 'head',
    decides: 'a final state',
    fallback: 'the block proves nothing: what it would confirm waits for the next head',
  }),
  blockHash: question({
    method: 'eth_getBlockByNumber',
    params: (height: bigint) => [quantityOf(height), false],
    read: (result, height): string | null => blockAt(height, result)?.hash ?? null,
    asks: 'head',
    decides: 'a final state',
    fallback: 'the block proves nothing: what it would confirm waits for the next head',
  }),
  blockOfHash: question({
    method: 'eth_getBlockByHash',
    params: (hash: string) => [hash, false],
    read(result, hash): Block | null {
      const block = result === null ? null : blockFrom(result);
      if (block !== null && block.hash !== hash) throw new MalformedAnswerError('block of another hash');
      return block;
    },
    asks: 'head',
    decides: 'a final state',
    fallback: 'the parent stays unknown: confirmations wait for the next head',
  }),
  usesInBlock: question({
    method: 'eth_getBlockByNumber',
    params: (_chainId: bigint, height: bigint, _account: string) => [quantityOf(height), true],
    read: (result, chainId, height, account): BlockUses => usesFrom(result, chainId, height, account),
    asks: 'head',
    decides: 'a final state',
    fallback: 'the search stops; a later head searches again',
    // A node may leave out a transaction, or change it so that its signature proves nothing.
    isEmpty: (uses) => uses.isEmpty(),
  }),
  pricesInBlock: question({
    method: 'eth_getBlockByNumber',
    params: (height: bigint) => [quantityOf(height), true],
    read: (result): readonly PaidPrice[] | null => (result === null ? null : pricesFrom(result)),
    asks: 'head',
    decides: 'an amount',
    fallback: 'a price that no block proves is at most 100 gwei, or 10,000 gwei after a demand of a node or five minutes',
  }),
  hashesInBlock: question({
    method: 'eth_getBlockByNumber',
    params: (height: bigint) => [quantityOf(height), false],
    read(result, height): { readonly hash: string; readonly hashes: ReadonlySet<string> } | null {
      const block = blockAt(height, result);
      if (block === null) return null;
      const listed = listFrom(objectFrom(result, 'block').transactions, 'transactions');
      const hashOf = (one: unknown): unknown => (typeof one === 'object' && one !== null && 'hash' in one ? one.hash : one);
      return {
        hash: block.hash,
        hashes: new Set(listed.map(hashOf).flatMap((one) => (typeof one === 'string' ? one.toLowerCase() : []))),
      };
    },
    asks: 'head',
    decides: 'a final state',
    fallback: 'a receipt that no other endpoint has waits for two more heads and a minute',
  }),
  newestNonce: question({
    method: 'eth_getTransactionCount',
    params: (account: string) => [account, 'latest'],
    read: (result): bigint => boundedFrom(result, 'nonce', 0n, maxNonce),
    asks: 'several',
    decides: 'a wait',
    fallback: refusesAll,
  }),
  nonceAt: question({
    method: 'eth_getTransactionCount',
    params: (account: string, height: bigint) => [account, quantityOf(height)],
    read: (result): bigint => boundedFrom(result, 'nonce', 0n, maxNonce),
    asks: 'head',
    decides: 'a final state',
    fallback: 'pruned state: the newest nonce counts as far as the service has signed',
  }),
  balance: question({
    method: 'eth_getBalance',
    params: (account: string) => [account, 'latest'],
    read: (result): bigint => quantityFrom(result, 'balance'),
    asks: 'several',
    decides: 'a wait',
    fallback: 'a self-transfer needs none; other content waits for the next head',
  }),
  code: question({
    method: 'eth_getCode',
    params: (account: string, block: string = 'latest') => [account, block],
    read(result): string {
      if (typeof result !== 'string' || !/^0x(?:[0-9a-f]{2})*$/i.test(result)) throw new MalformedAnswerError('code');
      return result.toLowerCase();
    },
    asks: 'head',
    decides: 'a wait',
    fallback: 'the limits of transactions in flight stay as they were',
  }),
  feeHistory: question({
    method: 'eth_feeHistory',
    params: (blocks: bigint, percentiles: readonly number[]) => [quantityOf(blocks), 'latest', percentiles],
    read: (result): FeeHistoryAnswer => feeHistoryFrom(result),
    asks: 'several',
    decides: 'an amount',
    fallback: 'the gas price, above the base fee of the newest block',
  }),
  gasPrice: question({
    method: 'eth_gasPrice',
    params: () => [],
    read: (result): bigint => boundedFrom(result, 'gas price', 0n, maxPriceWei),
    asks: 'several',
    decides: 'an amount',
    fallback: refusesAll,
  }),
  priorityFee: question({
    method: 'eth_maxPriorityFeePerGas',
    params: () => [],
    read: (result): bigint => boundedFrom(result, 'priority fee', 0n, maxPriceWei),
    asks: 'several',
    decides: 'an amount',
    fallback: 'from 0.3 to 0.99 gwei by speed',
  }),
  gasEstimate: question({
    method: 'eth_estimateGas',
    params: (call: SimulatedCall, block: string | null) => [callOf(call), ...(block === null ? [] : [block])],
    // Some networks charge less before execution. Nodes elsewhere refuse such a limit, and gas that is not used costs nothing.
    read: (result, { to, data }): bigint => max(boundedFrom(result, 'gas estimate', 1n, maxGas), intrinsicGas(to === null, data)),
    asks: 'several',
    decides: 'an amount',
    fallback:
      'a self-transfer takes what it needs without code; other content waits, and fails for words that every endpoint repeats for minutes',
    // A limit of gas may be the node's own, such as with geth's `--rpc.gascap`.
    isAnswer: (error) => isRefusal(error) && !isGasLimit(error.message),
  }),
  dryRun: question({
    method: 'eth_call',
    params: (call: SimulatedCall, gasLimit: bigint, block: string) => [{ ...callOf(call), gas: quantityOf(gasLimit) }, block],
    read: (): null => null,
    asks: 'head',
    decides: 'a final state',
    fallback: 'the content waits; a refusal of one endpoint is doubted',
    isEmpty: () => false,
    isAnswer: (error) => isExecutionFailure(error) || isInvalidForBlocks(error.message),
  }),
  simulation: question({
    method: 'eth_call',
    params: (call: SimulatedCall, gasLimit: bigint | null, block: string) => [
      { ...callOf(call), ...(gasLimit === null ? {} : { gas: quantityOf(gasLimit) }) },
      block,
    ],
    read(result): string {
      if (typeof result !== 'string' || !/^0x(?:[0-9a-f]{2})*$/i.test(result)) throw new MalformedAnswerError('result of a call');
      return result.toLowerCase();
    },
    asks: 'head',
    decides: 'nothing final',
    fallback: 'a quote does not say what a call returns; the estimate says whether it succeeds',
    isEmpty: () => false,
    isAnswer: (error) => isExecutionFailure(error) || isFundsShort(error.message) || isInvalidForBlocks(error.message),
  }),
  revert: question({
    method: 'eth_call',
    params: (call: object, block: bigint) => [call, quantityOf(block)],
    read: (): null => null,
    asks: 'head',
    decides: 'nothing final',
    fallback: 'the reason of the revert stays unknown',
    isEmpty: () => false,
    isAnswer: isExecutionFailure,
  }),
  publishingFee: question({
    method: 'eth_call',
    params: (call: { readonly to: string; readonly data: string }) => [call, 'latest'],
    // If nothing is deployed at the address, the answer is empty.
    read: (result): bigint | null => (result === '0x' ? null : boundedFrom(result, 'L1 fee', 0n, maxFeeWei)),
    asks: 'several',
    decides: 'an amount',
    fallback: 'left out of checks of the balance; the log says so once',
    isAnswer: isExecutionFailure,
  }),
  receipt: question({
    method: 'eth_getTransactionReceipt',
    params: (hash: string) => [hash],
    read(result, hash): Receipt | 'unreadable' | null {
      const receipt = result === null ? null : receiptFrom(result);
      // The answer to another call: a gateway mixed up a batch.
      if (receipt !== null && receipt !== 'unreadable' && receipt.hash !== hash.toLowerCase())
        throw new MalformedAnswerError('receipt of another transaction');
      return receipt;
    },
    asks: 'head',
    decides: 'a final state',
    fallback: 'the transaction of this hash waits, and no other; a block that contains it is searched',
    isEmpty: (receipt) => receipt === null || receipt === 'unreadable',
  }),
  blockReceipts: question({
    method: 'eth_getBlockReceipts',
    params: (height: bigint) => [quantityOf(height)],
    read: (result): readonly Receipt[] | null => (result === null ? null : blockReceiptsFrom(result)),
    asks: 'head',
    decides: 'a final state',
    fallback: 'the receipts are asked for one by one',
  }),
  transaction: question({
    method: 'eth_getTransactionByHash',
    params: (hash: string) => [hash],
    read(result, hash): Answer | null {
      const transaction = result === null ? null : objectFrom(result, 'transaction');
      if (transaction !== null && hashFrom(transaction.hash, 'transaction hash') !== hash.toLowerCase())
        throw new MalformedAnswerError('another transaction');
      return transaction;
    },
    asks: 'head',
    decides: 'a wait',
    fallback: refusesAll,
  }),
  broadcast: question({
    method: 'eth_sendRawTransaction',
    params: (raw: string) => [raw],
    read: (result): string => hashFrom(result, 'transaction hash'),
    asks: 'head',
    acts: true,
    decides: 'a wait',
    fallback: 'the attempt is sent again; it counts as sent in any case',
    // A known text overrides the code: besu uses -32005 ("limit exceeded" elsewhere) for a gas limit that is too high. Unknown words may be
    // those of one node only, so the transaction goes to every other one.
    isAnswer(error) {
      const rule = isRevert(error) ? undefined : ruleFor(error.message);
      return rule !== undefined && rule.isAboutNode !== true;
    },
  }),
} as const;

/** Reads the block at a height; null: the node has none. Some nodes answer any old number with their newest or oldest block. */
function blockAt(height: bigint, result: unknown): Block | null {
  const block = result === null ? null : blockFrom(result);
  return block?.number === height ? block : null;
}

/** The height of the block that identifies a chain. Its text is the hash of block 0, or the height and the hash of a later block. */
function heightOf(anchor: string): bigint {
  const [height = '', hash] = anchor.split(':');
  return hash === undefined ? 0n : BigInt(height);
}

function anchorFrom(block: Block | null): string | null {
  return block === null ? null : block.number === 0n ? block.hash : `${block.number}:${block.hash}`;
}

/** Reads a quantity from `least` to below `limit`. Throws `MalformedAnswerError`. */
function boundedFrom(value: unknown, what: string, least: bigint, limit: bigint): bigint {
  const quantity = quantityFrom(value, what);
  if (quantity < least || quantity >= limit) throw new MalformedAnswerError(what);
  return quantity;
}

function callOf({ from, to, valueWei, data }: SimulatedCall): object {
  // Nodes call the field `data` or `input`; all of them accept `data`.
  return { from, value: quantityOf(valueWei), ...(to === null ? {} : { to }), ...(data === null ? {} : { data }) };
}

/** Reads what the transactions of a block paid per gas above its base fee. What cannot be read is left out. */
function pricesFrom(result: unknown): readonly PaidPrice[] {
  const { baseFeePerGas, transactions } = objectFrom(result, 'block');
  const baseFeeWei = amountFrom(baseFeePerGas ?? '0x0') ?? 0n;
  return listFrom(transactions, 'transactions').flatMap((one) => {
    if (typeof one !== 'object' || one === null) return [];
    const { hash, gasPrice, maxFeePerGas, maxPriorityFeePerGas } = one as Answer;
    const [most, tip] = [amountFrom(maxFeePerGas), amountFrom(maxPriorityFeePerGas)];
    const offered = most === null || tip === null ? null : most - baseFeeWei < tip ? most - baseFeeWei : tip;
    const price = amountFrom(gasPrice);
    const wei = offered ?? (price === null ? null : price - baseFeeWei);
    return wei === null || wei <= 0n || typeof hash !== 'string' ? [] : { hash: hash.toLowerCase(), wei };
  });
}

function amountFrom(value: unknown): bigint | null {
  return typeof value === 'string' && /^0x[0-9a-f]{1,32}$/i.test(value) ? BigInt(value) : null;
}

/**
 * Reads the account's transactions in a block. Those whose signatures do not prove the sender are left out, and what other senders have
 * there may be anything. Signatures are checked only where a nonce is looked for: a block may hold very many.
 */
function usesFrom(result: unknown, chainId: bigint, height: bigint, account: string): BlockUses {
  const wanted = account.toLowerCase();
  const { number, hash: blockHash, transactions } = objectFrom(result, 'block');
  if (quantityFrom(number, 'block number') !== height) throw new MalformedAnswerError('block of another number');
  const at = { blockNumber: height, blockHash: hashFrom(blockHash, 'block hash') };
  const readable = listFrom(transactions, 'transactions').filter((one): one is Answer => typeof one === 'object' && one !== null);
  const sent = readable.filter(({ from }) => typeof from === 'string' && from.toLowerCase() === wanted);
  const known = new Map<bigint, Use | null>();
  const isAuthorized = (one: unknown): boolean => authorityFrom(one, chainId)?.account.toLowerCase() === wanted;
  const authorizationsIn = ({ authorizationList }: Answer): readonly unknown[] =>
    Array.isArray(authorizationList) ? authorizationList : [];

  function senderOf(transaction: Answer): ProvedTransaction | null {
    const sender = senderFrom(transaction, chainId);
    return sender?.account.toLowerCase() === wanted ? sender : null;
  }

  function find(nonce: bigint): Use | null {
    const hasNonce = (one: unknown): boolean => amountFrom(Object(one).nonce) === nonce;
    for (const transaction of sent.filter(hasNonce).slice(0, maxProofs)) {
      const sender = senderOf(transaction);
      if (sender !== null) return { hash: sender.hash, nonce, does: doesWhat(sender), ...at };
    }
    // An authorization whose nonce a transaction used was void.
    let proofs = 0;
    for (const transaction of readable) {
      const { hash } = transaction;
      if (typeof hash !== 'string' || !/^0x[0-9a-f]{64}$/i.test(hash)) continue;
      for (const one of authorizationsIn(transaction).filter(hasNonce)) {
        proofs += 1;
        if (proofs > maxProofs) return null;
        if (isAuthorized(one)) return { hash: hash.toLowerCase(), nonce, does: () => false, ...at };
      }
    }
    return null;
  }

  return {
    find(nonce) {
      const use = known.get(nonce) ?? (known.has(nonce) ? null : find(nonce));
      known.set(nonce, use);
      return use;
    },
    isEmpty: () =>
      sent.slice(0, maxFirstProofs).every((one) => senderOf(one) === null) &&
      !readable.flatMap(authorizationsIn).slice(0, maxFirstProofs).some(isAuthorized),
  };
}

/** The signatures that are checked for one nonce. A block holds fewer authorizations for the same one, unless it is made up. */
const maxProofs = 4_000;
/** Only whether another endpoint is asked, too, depends on these. */
const maxFirstProofs = 16;

/** Compares contents with a transaction by what its hash has proved. */
function doesWhat({ to, valueWei, data }: ProvedTransaction): Use['does'] {
  const hexOf = (text: string | null): string => text?.toLowerCase() ?? '0x';
  return (content) =>
    content.network === 'evm' && hexOf(content.to) === to && content.valueWei === valueWei && hexOf(content.data) === data;
}

function feeHistoryFrom(result: unknown): FeeHistoryAnswer {
  const answer = objectFrom(result, 'fee history');
  const baseFees = listFrom(answer.baseFeePerGas, 'base fees');
  const rewards = answer.reward === undefined || answer.reward === null ? [] : listFrom(answer.reward, 'rewards');
  const oldest = rewards.length === 0 ? 0n : quantityFrom(answer.oldestBlock, 'oldest block');
  const ratios = Array.isArray(answer.gasUsedRatio) ? answer.gasUsedRatio : [];
  const price = (value: unknown, what: string): bigint => boundedFrom(value, what, 0n, maxPriceWei);
  return {
    nextBaseFeeWei: price(baseFees.at(-1), 'base fee'),
    blocks: rewards.map((row, index) => ({
      number: oldest + BigInt(index),
      rewardsWei: listFrom(row, 'rewards').map((reward) => price(reward, 'reward')),
      gasUsedRatio: typeof ratios[index] === 'number' ? ratios[index] : 0,
    })),
  };
}

/** True if the words mean that the account cannot pay. */
export function isFundsShort(text: string): boolean {
  return /insufficient (?:funds|balance)|exceeds (?:account )?balance/i.test(text);
}

/** True if the words mean that the transaction needs more gas than the network, or the node, allows. */
export function isGasLimit(text: string): boolean {
  return /gas required exceeds allowance|exceeds block gas limit|gas limit is too high/i.test(text);
}

/** True if the words refuse the transaction, and not the question. */
function isRefusal(error: NodeError): boolean {
  return isExecutionFailure(error) || isFundsShort(error.message) || isGasLimit(error.message);
}

/** True if the words mean that no block can contain the transaction. */
export function isInvalidForBlocks(text: string): boolean {
  return invalidForBlocks.test(text);
}

// geth "intrinsic gas too low: ...", "insufficient gas for floor data gas cost: ...", "max initcode size exceeded: ..."; erigon
// "IntrinsicGas", "initcode too large"; reth and anvil as geth. A limit that is too high is not among them: reth says so if it exceeds the
// node's own limit for calls.
const invalidForBlocks = /intrinsic ?gas|floor data gas|init ?code/i;
