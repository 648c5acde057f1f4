import { createHash, randomBytes } from 'node:crypto';
import { getBase58Decoder } from '@solana/kit';
import { systemProgram } from './instructions.js';
import { createPool, type Pool } from './pool.js';
import { type AccountState, createRuntime, type Run, type Runtime, type Simulated } from './runtime.js';
import type { TransactionError } from './transaction-error.js';
import type { WireTransaction } from './wire-transaction.js';

/** A commitment level of the RPC. */
export type Commitment = 'processed' | 'confirmed' | 'finalized';

/** A transaction in a block, successful or failed. */
export interface Landed {
  readonly transaction: WireTransaction;
  readonly slot: bigint;
  readonly error: TransactionError | null;
  readonly logs: readonly string[];
  readonly unitsConsumed: bigint;
  /** Balances of the message's own accounts, in order. */
  readonly lamportsBefore: readonly bigint[];
  readonly lamportsAfter: readonly bigint[];
}

/** A block. Heights count blocks, slots also count skipped slots. */
export interface Block {
  readonly slot: bigint;
  readonly parentSlot: bigint;
  readonly height: bigint;
  readonly hash: string;
  readonly unixSeconds: bigint;
  /** The signature of a validator's vote; null if the block has none. */
  readonly vote: string | null;
  readonly landed: readonly Landed[];
  /** The minimum unit price of the block in micro-lamports. */
  readonly lowestBidMicroLamports: bigint;
  /** The previous states of the accounts that it changed. */
  readonly before: ReadonlyMap<string, AccountState | null>;
}

/** A node's view of the chain. */
export interface View {
  readonly commitment: Commitment;
  /** The number of blocks by which the node lags. */
  readonly blocksBehind: number;
  /** The slot since which the node follows its own fork, on which nothing becomes confirmed; null if it follows the chain. */
  readonly forkedAfterSlot: bigint | null;
}

/** The options of a chain. */
export interface SolanaChainOptions {
  /** System accounts and their lamports. */
  readonly accounts?: readonly { readonly address: string; readonly lamports: bigint }[];
  /** The blocks after which a block is confirmed; default 1. */
  readonly confirmedAfterBlocks?: number;
  /** The blocks after which a block is finalized; default 31, as on a real cluster. */
  readonly finalizedAfterBlocks?: number;
  /** The blocks for which a blockhash is valid; default 150, as on a real cluster. */
  readonly blockhashAgeBlocks?: number;
  /** Base58 of 32 bytes; default random. All blockhashes follow from it. */
  readonly genesisHash?: string;
  /** Milliseconds since 1970; default the system clock. */
  readonly nowMs?: () => number;
}

/** A chain: one bank of the real runtime, blocks on command, and a pool of pending transactions. */
export interface SolanaChain {
  readonly genesisHash: string;
  /** The pending transactions. */
  readonly pool: Pool;
  /** False: blocks have no votes. */
  hasVotes: boolean;
  /** Makes blocks (default one) from the pool. */
  advance(blocks?: number): void;
  /** Skips slots. */
  skipSlots(slots: number): void;
  /** The number of blocks that a dropped fork can still have. */
  notFinalized(): number;
  /** Reverts and forgets the newest blocks, like a dropped fork; never a finalized one. */
  takeBack(blocks: number): void;
  /** Rejections by leaders, by signature; they leave no trace on chain and no caller sees them. */
  readonly refused: ReadonlyMap<string, TransactionError>;

  /** Returns the newest block at a commitment. */
  tip(view: View): Block;
  block(slot: bigint): Block | undefined;
  /** Returns the blocks of a view from a slot on, oldest first. */
  blocksFrom(slot: bigint, view: View): readonly Block[];
  /** Returns the newest blocks of a view, oldest first. */
  recentBlocks(count: number, view: View): readonly Block[];
  /** Returns a transaction in a block of a view. */
  landed(signature: string, view: View): Landed | undefined;
  /** Returns the block and the result of a transaction or a vote in a block of a view. */
  placeOf(signature: string, view: View): Pick<Landed, 'slot' | 'error'> | undefined;
  /** Returns the transactions that use an account, newest first. */
  landedOf(address: string, view: View): readonly Landed[];
  /** Returns the number of blocks on top of a slot in a view. */
  blocksOnTop(slot: bigint, view: View): number;
  commitmentOf(slot: bigint, view: View): Commitment;
  account(address: string, view: View): AccountState | null;
  /** Sets an account in all blocks, past ones included. */
  putAccount(address: string, state: AccountState): void;
  /** Returns the last height at which a blockhash is valid; null if it is unknown or expired. */
  lastValidHeight(blockhash: string, view: View): bigint | null;
  /** Returns why the next block would reject a transaction before running it. */
  refusalOf(transaction: WireTransaction, view: View): TransactionError | null;
  /** Runs a transaction on the newest state without a trace. */
  simulate(transaction: WireTransaction, options: { readonly verifiesSignatures: boolean }): Simulated;
  rentExemptLamports(dataBytes: bigint): bigint;
}

/** The view of an up-to-date node. */
export const newest: View = { commitment: 'processed', blocksBehind: 0, forkedAfterSlot: null };
const blocksKept = 10_000;
/** Every block of this many has no vote, as on a validator whose votes come late. */
const voteMissingEvery = 4n;
const base58 = getBase58Decoder();

/** Starts a chain with enough blocks for the first one to be final. */
export function createSolanaChain(options: SolanaChainOptions = {}): SolanaChain {
  const { accounts = [], confirmedAfterBlocks = 1, finalizedAfterBlocks = 31, blockhashAgeBlocks = 150 } = options;
  const { genesisHash = base58.decode(randomBytes(32)), nowMs = Date.now } = options;
  // MAX_PROCESSING_AGE counts from the parent block (check_transactions.rs): one more than the reported height.
  const maxAge = BigInt(blockhashAgeBlocks);
  const runtime: Runtime = createRuntime();
  const pool = createPool();
  const refused = new Map<string, TransactionError>();
  const blocks: Block[] = [];
  const places = new Map<string, Landed>();
  const votes = new Map<string, Pick<Landed, 'slot' | 'error'>>();
  /** Slots by message: each message lands only once. */
  const messages = new Map<string, bigint>();
  const heights = new Map<string, bigint>();
  /** Makes heights and slots differ, so that code cannot confuse them. */
  let slot = 400n;
  /** The newest finalized block. */
  let rootSlot = 0n;
  let hasVotes = true;

  for (const { address, lamports } of accounts) {
    runtime.put(address, { lamports, owner: systemProgram, data: new Uint8Array(), executable: false });
  }
  for (let made = 0; made <= finalizedAfterBlocks + 1; made += 1) makeBlock();

  function makeBlock(): void {
    const parent = blocks.at(-1);
    slot += 1n;
    const unixSeconds = BigInt(Math.floor(nowMs() / 1000));
    runtime.moveTo(slot, unixSeconds);
    const before = new Map<string, AccountState | null>();
    const landed: Landed[] = [];
    for (const transaction of pool.take(slot)) {
      const refusal = refusalOf(transaction, newest);
      if (refusal !== null) {
        refused.set(transaction.signature, refusal);
        continue;
      }
      const lamportsBefore = lamportsOf(transaction);
      const run = runtime.run(transaction);
      if (!run.hasPaid) {
        refused.set(transaction.signature, run.error ?? 'InsufficientFundsForFee');
        continue;
      }
      for (const [address, state] of run.before) if (!before.has(address)) before.set(address, state);
      const entry = landedFrom(transaction, run, lamportsBefore);
      landed.push(entry);
      places.set(transaction.signature, entry);
      messages.set(transaction.messageKey, slot);
    }
    const height = (parent?.height ?? 99n) + 1n;
    const hash = base58.decode(createHash('sha256').update(`${genesisHash} ${slot}`).digest());
    heights.set(hash, height);
    // On a real cluster other traffic sets the price; here the test sets it in the pool.
    const lowestBidMicroLamports = pool.lowestBidMicroLamports || (landed.at(-1)?.transaction.bidMicroLamports ?? 0n);
    const isVoted = hasVotes && height % voteMissingEvery !== 0n;
    const vote = isVoted ? base58.decode(createHash('sha512').update(`${genesisHash} ${slot}`).digest()) : null;
    if (vote !== null) votes.set(vote, { slot, error: null });
    blocks.push({ slot, parentSlot: parent?.slot ?? slot, height, hash, unixSeconds, vote, landed, lowestBidMicroLamports, before });
    rootSlot = tip({ ...newest, commitment: 'finalized' }).slot;
    pool.forgetExpired(tip({ ...newest, commitment: 'finalized' }).height);
    if (blocks.length > 2 * blocksKept) forgetEmptyBlocks();
  }

  /** Empty blocks are dropped, so a chain can run for days. */
  function forgetEmptyBlocks(): void {
    const old = blocks.splice(0, blocksKept);
    for (const { hash, vote } of old) {
      heights.delete(hash);
      if (vote !== null) votes.delete(vote);
    }
    blocks.unshift(...old.filter(({ landed }) => landed.length > 0));
  }

  function landedFrom(transaction: WireTransaction, run: Run, lamportsBefore: readonly bigint[]): Landed {
    const { error, logs, unitsConsumed } = run;
    return { transaction, slot, error, logs, unitsConsumed, lamportsBefore, lamportsAfter: lamportsOf(transaction) };
  }

  function lamportsOf({ message }: WireTransaction): readonly bigint[] {
    return message.staticAccounts.map((address) => runtime.account(address)?.lamports ?? 0n);
  }

  /** Returns the index of the newest block of a view, at least 0. */
  function indexOf({ commitment, blocksBehind, forkedAfterSlot }: View): number {
    const depth = { processed: 0, confirmed: confirmedAfterBlocks, finalized: finalizedAfterBlocks }[commitment];
    // A dropped fork leaves finalized blocks finalized.
    const kept = commitment === 'finalized' ? rootIndex() - blocksBehind : 0;
    const seen = Math.max(0, kept, blocks.length - 1 - depth - blocksBehind);
    return forkedAfterSlot === null || commitment === 'processed' ? seen : Math.min(seen, indexBefore(forkedAfterSlot, depth));
  }

  function rootIndex(): number {
    return blocks.findLastIndex((block) => block.slot <= rootSlot);
  }

  function notFinalized(): number {
    return blocks.length - 1 - rootIndex();
  }

  /** Blocks of a fork confirm nothing: earlier blocks keep the commitment that they had at the fork. */
  function indexBefore(forkedAfterSlot: bigint, depth: number): number {
    const parting = blocks.findLastIndex((block) => block.slot <= forkedAfterSlot);
    return Math.max(0, parting - depth);
  }

  function tip(view: View): Block {
    const block = blocks[indexOf(view)];
    if (block === undefined) throw new Error('a chain has at least one block');
    return block;
  }

  function lastValidHeight(blockhash: string, view: View): bigint | null {
    const height = heights.get(blockhash);
    const tipHeight = tip(view).height;
    if (height === undefined || height > tipHeight || tipHeight - height > maxAge) return null;
    return height + maxAge;
  }

  function refusalOf(transaction: WireTransaction, view: View): TransactionError | null {
    if (lastValidHeight(transaction.blockhash, view) === null) return 'BlockhashNotFound';
    const taken = messages.get(transaction.messageKey);
    return taken !== undefined && taken <= tip(view).slot ? 'AlreadyProcessed' : null;
  }

  function blocksOnTop(ofSlot: bigint, view: View): number {
    const top = indexOf({ ...view, commitment: 'processed' });
    return top - blocks.findLastIndex((block) => block.slot === ofSlot);
  }

  function inView<T extends Pick<Landed, 'slot'>>(found: T | undefined, view: View): T | undefined {
    if (found === undefined || found.slot > tip(view).slot) return undefined;
    return view.forkedAfterSlot === null || found.slot <= view.forkedAfterSlot ? found : undefined;
  }

  return {
    genesisHash,
    pool,
    refused,
    advance(count = 1) {
      for (let made = 0; made < count; made += 1) makeBlock();
    },
    skipSlots(slots) {
      slot += BigInt(slots);
    },
    set hasVotes(has: boolean) {
      hasVotes = has;
    },
    get hasVotes() {
      return hasVotes;
    },
    notFinalized,
    takeBack(count) {
      if (count > notFinalized()) throw new Error('a finalized block is never undone');
      for (const block of blocks.splice(blocks.length - count).reverse()) {
        for (const [address, state] of block.before) runtime.put(address, state);
        for (const { transaction } of block.landed) {
          places.delete(transaction.signature);
          messages.delete(transaction.messageKey);
        }
        heights.delete(block.hash);
        if (block.vote !== null) votes.delete(block.vote);
      }
    },
    tip,
    block: (ofSlot) => blocks.findLast((block) => block.slot === ofSlot),
    blocksFrom: (from, view) => blocks.slice(0, indexOf(view) + 1).filter((block) => block.slot >= from),
    recentBlocks: (count, view) => blocks.slice(Math.max(0, indexOf(view) + 1 - count), indexOf(view) + 1),
    landed: (signature, view) => inView(places.get(signature), view),
    placeOf: (signature, view) => inView(places.get(signature) ?? votes.get(signature), view),
    landedOf(address, view) {
      return blocks
        .slice(0, indexOf(view) + 1)
        .reverse()
        .flatMap(({ landed }) => landed.toReversed())
        .filter(({ transaction }) => (transaction.message.staticAccounts as readonly string[]).includes(address));
    },
    blocksOnTop,
    commitmentOf(ofSlot, view) {
      const holds = (commitment: Commitment): boolean => ofSlot <= tip({ ...view, commitment }).slot;
      if (holds('finalized')) return 'finalized';
      return holds('confirmed') ? 'confirmed' : 'processed';
    },
    account(address, view) {
      // The state before the first later block that changed it.
      const later = blocks.slice(indexOf(view) + 1).find(({ before }) => before.has(address));
      return later === undefined ? runtime.account(address) : (later.before.get(address) ?? null);
    },
    putAccount: (address, state) => runtime.put(address, state),
    lastValidHeight,
    refusalOf,
    simulate: (transaction, how) => runtime.simulate(transaction, how),
    rentExemptLamports: (dataBytes) => runtime.rentExemptLamports(dataBytes),
  };
}
