import { type Block, gasOf, type Ledger, revertingData, shownBlock, shownIn, shownReceipt } from './ledger.js';
import { createPool, defaultRules, type Pool } from './pool.js';
import { decodeTransaction, quantity, type SimTransaction } from './transaction.js';
import { type NodeKind, type NodeWords, words } from './words.js';

/** What a node does wrong; everything is off in an honest one. */
export interface Misbehavior {
  /** It shows the chain as of this many blocks ago. */
  lagBlocks: number;
  /** It claims this many blocks above its own, and shows made-up ones. */
  inventedBlocks: number;
  /** It adds this to every nonce. */
  nonceLie: number;
  /** It counts its pool into the newest block. */
  countsPool: boolean;
  /** It shows no pending transaction by its hash. */
  hidesPending: boolean;
  /** It answers with the hash, and pools nothing. */
  poolsNothing: boolean;
  /** It has no state older than this many blocks. */
  prunesAfter: number;
  /** It knows nonces only of the newest block, by that name. */
  hasOnlyNewestNonces: boolean;
  /** True if it shows no block at this number. */
  skips(height: number): boolean;
  /** It refuses to show receipts. */
  indexesReceipts: boolean;
  /** It shows receipts of blocks that a reorg removed. */
  keepsReceipts: boolean;
  /** It shows a stranger's transaction as one of this account, which used this nonce in this block. */
  forgesSender: { readonly account: string; readonly nonce: number; readonly block: number } | null;
  /** It answers estimates with words that are in no table. */
  puzzles: boolean;
  hasNoFeeHistory: boolean;
  /** It shows that nobody pays priority fees. */
  paysNoTips: boolean;
  /** Batches with more calls get an array of one error; 0: no limit. */
  batchLimit: number;
  /** It keeps what it gets to itself. */
  isPrivate: boolean;
  /** It always answers that a transaction with another one in its slot bids too little. */
  isNeverOutbid: boolean;
}

/** No misbehavior. */
export const honest: Misbehavior = {
  lagBlocks: 0,
  inventedBlocks: 0,
  nonceLie: 0,
  countsPool: false,
  hidesPending: false,
  poolsNothing: false,
  prunesAfter: Number.POSITIVE_INFINITY,
  hasOnlyNewestNonces: false,
  skips: () => false,
  indexesReceipts: false,
  keepsReceipts: false,
  forgesSender: null,
  puzzles: false,
  hasNoFeeHistory: false,
  paysNoTips: false,
  batchLimit: 0,
  isPrivate: false,
  isNeverOutbid: false,
};

/** A node, as it answers JSON-RPC. */
export interface SimNode {
  readonly name: string;
  readonly kind: NodeKind;
  readonly pool: Pool;
  readonly behavior: Misbehavior;
  head(): Block;
  /** Takes over the true chain's newest block, or an older one while it lags. */
  follow(): void;
  /** Answers a request's body. */
  answer(body: string): string;
}

/** The parts of a node. */
export interface NodeOptions {
  readonly name: string;
  readonly kind: NodeKind;
  readonly chainId: bigint;
  readonly ledger: Ledger;
  /** Gets what the node passes on to the network. */
  readonly gossip: (transaction: SimTransaction, from: SimNode) => void;
  /** A transaction of another account, for lies. */
  readonly stranger: () => SimTransaction;
  /** Called if the node refuses a transaction because it bids too little. */
  readonly refusedBid: (transaction: SimTransaction) => void;
  /** Called if the node shows an account's next nonce, at the block that was asked for. */
  readonly showedNonce: (account: string, next: number, block: string) => void;
}

class Refused {
  constructor(
    readonly code: number,
    readonly message: string,
    readonly data?: string,
  ) {}
}

type Params = readonly unknown[];

/** Starts a node at the true chain's newest block. */
export function createNode({ name, kind, chainId, ledger, gossip, stranger, refusedBid, showedNonce }: NodeOptions): SimNode {
  const text: NodeWords = words[kind];
  const pool = createPool({ ...defaultRules, isStrict: kind === 'reth', hasNoGaps: text.gap !== null, leastTipWei: 0n });
  const behavior: Misbehavior = { ...honest };
  let head = ledger.head();
  /** The node's own branch by height: it may differ from the true chain. */
  let branch: Block[] = [ledger.genesis];
  /** The transactions of blocks that a reorg removed. */
  const removed = new Map<string, { readonly block: Block; readonly index: number }>();

  function invented(height: number): Block {
    return { ...head, number: height, hash: `0x${height.toString(16).padStart(64, 'e')}`, executed: [] };
  }

  function at(height: number): Block | null {
    if (height > head.number && height <= head.number + behavior.inventedBlocks) return invented(height);
    return branch[height] ?? null;
  }

  function blockOf(tag: unknown): Block | null {
    if (tag === 'latest' || tag === 'pending') return at(head.number + behavior.inventedBlocks);
    return at(Number(tag));
  }

  function stateAt(tag: unknown, account: unknown): { readonly nonce: number; readonly balanceWei: bigint } | Refused {
    const block = blockOf(tag);
    if (block === null) return new Refused(-32000, text.unknownBlock(Number(tag)));
    if (block.number < head.number - behavior.prunesAfter) return new Refused(-32000, text.pruned);
    return block.accounts.get(String(account).toLowerCase()) ?? { nonce: 0, balanceWei: 0n };
  }

  function nonceAt(account: unknown, tag: unknown): string | Refused {
    const state = stateAt(tag, account);
    if (state instanceof Refused) return state;
    if (behavior.hasOnlyNewestNonces && tag !== 'latest') return new Refused(-32000, text.pruned);
    const address = String(account).toLowerCase();
    let nonce = Math.max(0, state.nonce + behavior.nonceLie);
    const isNewest = tag === 'latest' || tag === 'pending' || Number(tag) >= head.number;
    if (behavior.countsPool && isNewest) while (pool.at(address, nonce) !== undefined) nonce += 1;
    const { forgesSender: forged } = behavior;
    if (forged?.account === address && (isNewest || Number(tag) >= forged.block)) nonce = Math.max(nonce, forged.nonce + 1);
    showedNonce(address, nonce, String(tag));
    return quantity(nonce);
  }

  function executedIn(hash: unknown): { readonly block: Block; readonly index: number } | null {
    const block = ledger.blockOf(String(hash));
    const seen = block === undefined ? null : (branch[block.number] ?? null);
    // An abandoned branch may hold it too; nodes search their own.
    const holders = seen === block && block !== undefined ? [block] : branch.slice(-12);
    for (const holder of holders) {
      const index = holder.executed.findIndex(({ transaction }) => transaction.hash === hash);
      if (index >= 0) return { block: holder, index };
    }
    return null;
  }

  function receipt(hash: unknown): object | null | Refused {
    if (behavior.indexesReceipts) return new Refused(-32000, 'transaction indexing is in progress');
    const found = (behavior.keepsReceipts ? removed.get(String(hash)) : undefined) ?? executedIn(hash);
    const executed = found?.block.executed[found.index];
    return found === null || executed === undefined ? null : shownReceipt(executed, found.block);
  }

  function fullBlock(block: Block): object {
    const shown = shownBlock(block, true);
    const { forgesSender: forged } = behavior;
    if (forged?.block !== block.number) return shown;
    return { ...shown, transactions: [{ ...shownIn(stranger(), block), from: forged.account, nonce: quantity(forged.nonce) }] };
  }

  function send(raw: unknown): string | Refused {
    const transaction = decodeTransaction(String(raw));
    const account = head.accounts.get(transaction.from) ?? { nonce: 0, balanceWei: 0n };
    if (behavior.poolsNothing) return transaction.hash;
    const isTaken = pool.has(transaction.hash) === undefined && pool.at(transaction.from, transaction.nonce) !== undefined;
    const refusal = behavior.isNeverOutbid && isTaken ? 'replacement' : pool.add(transaction, account);
    if (refusal === 'replacement' || refusal === 'price') refusedBid(transaction);
    if (refusal === null) {
      gossip(transaction, node);
      return transaction.hash;
    }
    if (refusal === 'nonceUsed') return new Refused(-32000, text.nonceUsed(account.nonce, transaction.nonce));
    return new Refused(-32000, (refusal === 'gap' ? text.gap : text[refusal]) ?? 'nonce too high');
  }

  function estimate([call, tag]: Params): string | Refused {
    const { from, to = null, value, data = '0x' } = call as Record<string, string>;
    const state = stateAt(tag ?? 'latest', from);
    if (state instanceof Refused) return state;
    if (behavior.puzzles && data !== '0x') return new Refused(-32000, 'the moon is in the wrong place');
    if (BigInt(value ?? 0) > state.balanceWei) return new Refused(-32000, text.funds);
    if (String(data).startsWith(revertingData)) return new Refused(3, text.reverted, '0x');
    return quantity(gasOf(String(data), to));
  }

  function feeHistory([count, , percentiles]: Params): object | Refused {
    if (behavior.hasNoFeeHistory) return new Refused(-32601, 'the method eth_feeHistory does not exist/is not available');
    const recent = branch.slice(-Number(count));
    const scale = (percentile: unknown): bigint => 50n + BigInt(Math.round(Number(percentile)));
    return {
      oldestBlock: quantity(recent[0]?.number ?? 0),
      baseFeePerGas: [...recent, head].map(({ baseFeeWei }) => quantity(baseFeeWei)),
      gasUsedRatio: recent.map(() => (behavior.paysNoTips ? 0 : 0.5)),
      reward: recent.map(({ marketTipWei }) =>
        (percentiles as Params).map((one) => quantity(behavior.paysNoTips ? 0n : (marketTipWei * scale(one)) / 100n)),
      ),
    };
  }

  function call(method: string, params: Params): unknown {
    switch (method) {
      case 'eth_chainId':
        return quantity(chainId);
      case 'eth_getBlockByNumber': {
        const shown = blockOf(params[0]);
        const isSkipped = shown !== null && behavior.skips(shown.number);
        if (isSkipped && params[0] !== 'latest') return null;
        const block = isSkipped ? shown.parent : shown;
        return block === null ? null : params[1] === true ? fullBlock(block) : shownBlock(block, false);
      }
      case 'eth_getBlockByHash': {
        const block = branch.find((one) => one.hash === params[0]);
        return block === undefined ? null : shownBlock(block, false);
      }
      case 'eth_getTransactionCount':
        return nonceAt(params[0], params[1]);
      case 'eth_getBalance': {
        const state = stateAt(params[1], params[0]);
        return state instanceof Refused ? state : quantity(state.balanceWei);
      }
      case 'eth_getCode':
        return blockOf(params[1]) === null ? new Refused(-32000, text.unknownBlock(Number(params[1]))) : '0x';
      case 'eth_sendRawTransaction':
        return send(params[0]);
      case 'eth_getTransactionReceipt':
        return receipt(params[0]);
      case 'eth_getBlockReceipts': {
        const block = blockOf(params[0]);
        if (behavior.indexesReceipts) return new Refused(-32000, 'transaction indexing is in progress');
        return block === null ? null : block.executed.map((one) => shownReceipt(one, block));
      }
      case 'eth_getTransactionByHash': {
        const found = executedIn(params[0]);
        const mined = found?.block.executed[found.index];
        if (found !== null && mined !== undefined) return shownIn(mined.transaction, found.block);
        const pending = behavior.hidesPending ? undefined : pool.has(String(params[0]));
        return pending === undefined ? null : shownIn(pending, null);
      }
      case 'eth_estimateGas':
        return estimate(params);
      case 'eth_call':
        return String((params[0] as Record<string, string>).data ?? '0x').startsWith(revertingData)
          ? new Refused(3, text.reverted, '0x')
          : '0x';
      case 'eth_feeHistory':
        return feeHistory(params);
      case 'eth_gasPrice':
        return quantity(head.baseFeeWei + head.marketTipWei);
      case 'eth_maxPriorityFeePerGas':
        return quantity(head.marketTipWei);
      default:
        return new Refused(-32601, `the method ${method} does not exist/is not available`);
    }
  }

  function answerOne({ id, method, params }: { id: unknown; method: string; params?: Params }): object {
    const result = call(method, params ?? []);
    if (!(result instanceof Refused)) return { jsonrpc: '2.0', id, result };
    const { code, message, data } = result;
    return { jsonrpc: '2.0', id, error: { code, message, ...(data === undefined ? {} : { data }) } };
  }

  const node: SimNode = {
    name,
    kind,
    pool,
    behavior,
    head: () => head,
    follow() {
      const height = Math.max(0, ledger.head().number - behavior.lagBlocks);
      const newest = ledger.at(height) ?? ledger.genesis;
      if (newest === head) return;
      const fresh: Block[] = [];
      for (let block: Block | null = newest; block !== null && branch[block.number] !== block; block = block.parent) fresh.push(block);
      for (const block of branch.slice(fresh.at(-1)?.number ?? branch.length))
        for (const [index, { transaction }] of block.executed.entries()) removed.set(transaction.hash, { block, index });
      branch = [...branch.slice(0, fresh.at(-1)?.number ?? newest.number + 1), ...fresh.reverse()].slice(0, newest.number + 1);
      head = newest;
      pool.settle(head.accounts);
    },
    answer(body) {
      const request = JSON.parse(body);
      if (!Array.isArray(request)) return JSON.stringify(answerOne(request));
      if (behavior.batchLimit > 0 && request.length > behavior.batchLimit)
        return JSON.stringify([{ jsonrpc: '2.0', id: request[0]?.id, error: { code: -32600, message: 'batch too large' } }]);
      return JSON.stringify(request.map(answerOne));
    },
  };
  node.follow();
  return node;
}
