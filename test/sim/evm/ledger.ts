import type { Random } from '../../support/seeded-random.js';
import { quantity, type SimTransaction } from './transaction.js';

/** What happened to a transaction in its block. */
export interface Executed {
  readonly transaction: SimTransaction;
  readonly succeeded: boolean;
  readonly gasUsed: bigint;
  readonly pricePerGasWei: bigint;
}

/** An account after a block. */
export interface AccountState {
  readonly nonce: number;
  readonly balanceWei: bigint;
}

/** A block. Blocks of abandoned branches stay reachable for nodes that have not seen the new one yet. */
export interface Block {
  readonly number: number;
  readonly hash: string;
  readonly parent: Block | null;
  readonly timestampS: number;
  readonly baseFeeWei: bigint;
  /** The priority fee that others pay. */
  readonly marketTipWei: bigint;
  readonly executed: readonly Executed[];
  readonly accounts: ReadonlyMap<string, AccountState>;
}

/** The price of a block, and how much of it is left for the transactions of the run. */
export interface BlockTerms {
  readonly timestampS: number;
  readonly baseFeeWei: bigint;
  readonly marketTipWei: bigint;
  /** Only transactions with at least this priority fee are included. */
  readonly leastTipWei: bigint;
  readonly room: number;
  /** Money that arrives from elsewhere. */
  readonly deposits: ReadonlyMap<string, bigint>;
}

/** The true chain, which no node can change. */
export interface Ledger {
  readonly genesis: Block;
  head(): Block;
  /** The block of the true chain at this height. */
  at(height: number): Block | undefined;
  /** The true block that holds this transaction. */
  blockOf(hash: string): Block | undefined;
  /** The transaction of the true chain that used this nonce of an account, and its block. */
  userOf(account: string, nonce: number): { readonly hash: string; readonly block: Block } | undefined;
  /** Appends a block from these transactions, lowest nonce first. */
  build(candidates: readonly SimTransaction[], terms: BlockTerms): Block;
  /** Removes the newest blocks. Returns their transactions. */
  takeBack(count: number): readonly SimTransaction[];
}

/** Call data that reverts when it runs. */
export const revertingData = '0xbad0';

/** The gas that a transaction uses. */
export function gasOf(data: string, to: string | null): bigint {
  return data === '0x' ? (to === null ? 53_000n : 21_000n) : 31_000n + 8n * BigInt(data.length);
}

/** Makes a chain of one block. */
export function createLedger(random: Random, accounts: ReadonlyMap<string, AccountState>, timestampS: number): Ledger {
  const hash = (): string =>
    `0x${Array.from({ length: 8 }, () =>
      Math.floor(random.next() * 2 ** 32)
        .toString(16)
        .padStart(8, '0'),
    ).join('')}`;
  const genesis: Block = {
    number: 0,
    hash: hash(),
    parent: null,
    timestampS,
    baseFeeWei: 10n ** 9n,
    marketTipWei: 10n ** 9n,
    executed: [],
    accounts,
  };
  const blocks: Block[] = [genesis];
  const holders = new Map<string, Block>();
  const head = (): Block => blocks.at(-1) ?? genesis;

  return {
    genesis,
    head,
    at: (height) => blocks[height],
    blockOf: (transactionHash) => holders.get(transactionHash),
    userOf(account, nonce) {
      for (const block of blocks.toReversed()) {
        const used = block.executed.find(({ transaction }) => transaction.from === account && transaction.nonce === nonce);
        if (used !== undefined) return { hash: used.transaction.hash, block };
      }
      return undefined;
    },
    build(candidates, terms) {
      const { baseFeeWei, marketTipWei } = terms;
      const parent = head();
      const states = new Map(parent.accounts);
      for (const [account, wei] of terms.deposits) {
        const before = states.get(account) ?? { nonce: 0, balanceWei: 0n };
        states.set(account, { ...before, balanceWei: before.balanceWei + wei });
      }
      const executed: Executed[] = [];
      for (const transaction of candidates.toSorted((a, b) => a.nonce - b.nonce)) {
        if (executed.length >= terms.room) break;
        const one = execute(transaction, states.get(transaction.from), terms);
        if (one === null) continue;
        executed.push(one.executed);
        states.set(transaction.from, one.after);
      }
      const block: Block = {
        number: parent.number + 1,
        hash: hash(),
        parent,
        timestampS: Math.max(terms.timestampS, parent.timestampS + 1),
        baseFeeWei,
        marketTipWei,
        executed,
        accounts: states,
      };
      blocks.push(block);
      for (const { transaction } of executed) holders.set(transaction.hash, block);
      return block;
    },
    takeBack(count) {
      const gone = blocks.splice(blocks.length - count, count);
      const transactions = gone.flatMap(({ executed }) => executed.map(({ transaction }) => transaction));
      for (const { hash: one } of transactions) holders.delete(one);
      return transactions;
    },
  };
}

function execute(
  transaction: SimTransaction,
  before: AccountState | undefined,
  { baseFeeWei, leastTipWei }: BlockTerms,
): { readonly executed: Executed; readonly after: AccountState } | null {
  const { nonce, maxFeeWei, priorityWei, gasLimit, valueWei, data, to } = transaction;
  if (before === undefined || before.nonce !== nonce || maxFeeWei < baseFeeWei) return null;
  const room = maxFeeWei - baseFeeWei;
  const tipWei = priorityWei < room ? priorityWei : room;
  if (tipWei < leastTipWei || before.balanceWei < valueWei + gasLimit * maxFeeWei) return null;
  const needed = gasOf(data, to);
  const succeeded = !data.startsWith(revertingData) && needed <= gasLimit;
  const gasUsed = needed < gasLimit ? needed : gasLimit;
  const pricePerGasWei = baseFeeWei + tipWei;
  const balanceWei = before.balanceWei - gasUsed * pricePerGasWei - (succeeded ? valueWei : 0n);
  return { executed: { transaction, succeeded, gasUsed, pricePerGasWei }, after: { nonce: nonce + 1, balanceWei } };
}

/** A block as nodes show it. */
export function shownBlock(block: Block, isFull: boolean): Readonly<Record<string, unknown>> {
  return {
    number: quantity(block.number),
    hash: block.hash,
    parentHash: block.parent?.hash ?? `0x${'0'.repeat(64)}`,
    timestamp: quantity(block.timestampS),
    baseFeePerGas: quantity(block.baseFeeWei),
    gasLimit: quantity(30_000_000),
    gasUsed: quantity(block.executed.reduce((sum, { gasUsed }) => sum + gasUsed, 0n)),
    transactions: block.executed.map(({ transaction }) => (isFull ? shownIn(transaction, block) : transaction.hash)),
  };
}

/** A transaction as nodes show it; `block` null: it is pending. */
export function shownIn(transaction: SimTransaction, block: Block | null): Readonly<Record<string, unknown>> {
  return { ...transaction.shown, blockHash: block?.hash ?? null, blockNumber: block === null ? null : quantity(block.number) };
}

/** A receipt as nodes show it. */
export function shownReceipt(
  { transaction, succeeded, gasUsed, pricePerGasWei }: Executed,
  block: Block,
): Readonly<Record<string, unknown>> {
  return {
    transactionHash: transaction.hash,
    blockHash: block.hash,
    blockNumber: quantity(block.number),
    status: succeeded ? '0x1' : '0x0',
    gasUsed: quantity(gasUsed),
    effectiveGasPrice: quantity(pricePerGasWei),
  };
}
