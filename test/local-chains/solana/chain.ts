import { createHash, randomBytes } from 'node:crypto';
import { getBase58Decoder } from '@solana/kit';
import { systemProgram } from './instructions.js';
import { createPool, type Pool } from './pool.js';
import { type AccountState, createRuntime, type Execution, type Run, type Runtime } from './runtime.js';
import type { TransactionError } from './transaction-error.js';
import type { WireTransaction } from './wire-transaction.js';

/** How sure a block is, as the RPC words it. */
export type Commitment = 'processed' | 'confirmed' | 'finalized';

/** A transaction that a block holds, whether it succeeded or not. */
export interface Landed {
  readonly transaction: WireTransaction;
  readonly slot: bigint;
  readonly error: TransactionError | null;
  readonly logs: readonly string[];
  readonly unitsConsumed: bigint;
  /** Of the message's own accounts, in their order. */
  readonly lamportsBefore: readonly bigint[];
  readonly lamportsAfter: readonly bigint[];
}

/** A block. Heights count blocks, slots also count those that stayed empty of one. */
export interface Block {
  readonly slot: bigint;
  readonly parentSlot: bigint;
  readonly height: bigint;
  readonly hash: string;
  readonly unixSeconds: bigint;
  readonly landed: readonly Landed[];
  /** The least that one had to bid to be in it, in millionths of a lamport per unit. */
  readonly lowestBidMicroLamports: bigint;
  /** What the accounts that it changed held before it. */
  readonly before: ReadonlyMap<string, AccountState | null>;
}

/** Where a node looks at the chain from. */
export interface View {
  readonly commitment: Commitment;
  /** How many blocks the node has not heard of. */
  readonly blocksBehind: number;
  /** The node is on a fork of its own since this slot: it is right about what was before, and nothing after becomes confirmed for it. Null: it is not. */
  readonly forkedAfterSlot: bigint | null;
}

/** What a chain starts with. */
export interface SolanaChainOptions {
  /** Accounts of the system program, and their lamports. */
  readonly accounts?: readonly { readonly address: string; readonly lamports: bigint }[];
  /** Blocks on top of a confirmed one; default 1. */
  readonly confirmedAfterBlocks?: number;
  /** Blocks on top of a finalized one; default 31, as on a real cluster. */
  readonly finalizedAfterBlocks?: number;
  /** Blocks that a blockhash lives; default 150, as on a real cluster. */
  readonly blockhashAgeBlocks?: number;
}

/** A chain: one bank of the real runtime, blocks on command, and a pool of what was sent and has not landed. */
export interface SolanaChain {
  readonly genesisHash: string;
  /** What was sent and waits for a block. */
  readonly pool: Pool;
  /** Makes blocks, one unless said, of what waits. */
  advance(blocks?: number): void;
  /** Lets slots go by without a block. */
  skipSlots(slots: number): void;
  /** Takes the newest blocks back, as a fork does that loses: what they held is undone and forgotten. Never a finalized one. */
  takeBack(blocks: number): void;
  /** What leaders refused without a trace on chain, by signature: the answers that no sender gets. */
  readonly refused: ReadonlyMap<string, TransactionError>;

  /** The newest block of that commitment. */
  tip(view: View): Block;
  block(slot: bigint): Block | undefined;
  /** The blocks from a slot on that the view holds, oldest first. */
  blocksFrom(slot: bigint, view: View): readonly Block[];
  /** The newest blocks that the view holds, oldest first. */
  recentBlocks(count: number, view: View): readonly Block[];
  /** The transaction in a block that the view holds. */
  landed(signature: string, view: View): Landed | undefined;
  /** Those that name the account, newest first. */
  landedOf(address: string, view: View): readonly Landed[];
  /** How many blocks are on top of that slot's, as the node sees it. */
  blocksOnTop(slot: bigint, view: View): number;
  commitmentOf(slot: bigint, view: View): Commitment;
  account(address: string, view: View): AccountState | null;
  /** Sets an account as no transaction could; it was always so. */
  putAccount(address: string, state: AccountState): void;
  /** The last height at which the blockhash is good for a transaction; null: not known, or too old. */
  lastValidHeight(blockhash: string, view: View): bigint | null;
  /** Why a block after the view's would not take it, before anything is run. */
  refusalOf(transaction: WireTransaction, view: View): TransactionError | null;
  /** Runs it on the newest state, leaving no trace. */
  simulate(transaction: WireTransaction, options: { readonly verifiesSignatures: boolean }): Execution;
  rentExemptLamports(dataBytes: bigint): bigint;
}

/** From where the newest block of all is seen. */
export const newest: View = { commitment: 'processed', blocksBehind: 0, forkedAfterSlot: null };
const blocksKept = 10_000;
const base58 = getBase58Decoder();

/** Starts a chain that has some history: enough blocks for the first of them to be final. */
export function createSolanaChain(options: SolanaChainOptions = {}): SolanaChain {
  const { accounts = [], confirmedAfterBlocks = 1, finalizedAfterBlocks = 31, blockhashAgeBlocks = 150 } = options;
  // MAX_PROCESSING_AGE. A block takes what was not too old at its parent (check_transactions.rs): one more than the height that is told.
  const maxAge = BigInt(blockhashAgeBlocks);
  const runtime: Runtime = createRuntime();
  const genesisHash = base58.decode(randomBytes(32));
  const pool = createPool();
  const refused = new Map<string, TransactionError>();
  const blocks: Block[] = [];
  const places = new Map<string, Landed>();
  /** Slots by message: the same one is taken once. */
  const messages = new Map<string, bigint>();
  const heights = new Map<string, bigint>();
  /** Heights and slots are made to differ: nobody may take one for the other. */
  let slot = 400n;

  for (const { address, lamports } of accounts) {
    runtime.put(address, { lamports, owner: systemProgram, data: new Uint8Array(), executable: false });
  }
  for (let made = 0; made <= finalizedAfterBlocks + 1; made += 1) makeBlock();

  function makeBlock(): void {
    const parent = blocks.at(-1);
    slot += 1n;
    const unixSeconds = BigInt(Math.floor(Date.now() / 1000));
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
    // The rest of a real cluster's traffic is what makes others bid; here the pool is told what they do.
    const lowestBidMicroLamports = pool.lowestBidMicroLamports || (landed.at(-1)?.transaction.bidMicroLamports ?? 0n);
    blocks.push({ slot, parentSlot: parent?.slot ?? slot, height, hash, unixSeconds, landed, lowestBidMicroLamports, before });
    pool.forgetExpired(tip({ ...newest, commitment: 'finalized' }).height);
    if (blocks.length > 2 * blocksKept) forgetEmptyBlocks();
  }

  /** A chain that runs for days keeps what happened, not that nothing did. */
  function forgetEmptyBlocks(): void {
    const old = blocks.splice(0, blocksKept);
    for (const { hash } of old) heights.delete(hash);
    blocks.unshift(...old.filter(({ landed }) => landed.length > 0));
  }

  function landedFrom(transaction: WireTransaction, run: Run, lamportsBefore: readonly bigint[]): Landed {
    const { error, logs, unitsConsumed } = run;
    return { transaction, slot, error, logs, unitsConsumed, lamportsBefore, lamportsAfter: lamportsOf(transaction) };
  }

  function lamportsOf({ message }: WireTransaction): readonly bigint[] {
    return message.staticAccounts.map((address) => runtime.account(address)?.lamports ?? 0n);
  }

  /** Place in `blocks` of the view's newest; never before the first. */
  function indexOf({ commitment, blocksBehind, forkedAfterSlot }: View): number {
    const depth = { processed: 0, confirmed: confirmedAfterBlocks, finalized: finalizedAfterBlocks }[commitment];
    const seen = Math.max(0, blocks.length - 1 - depth - blocksBehind);
    return forkedAfterSlot === null || commitment === 'processed' ? seen : Math.min(seen, indexBefore(forkedAfterSlot, depth));
  }

  /** The fork's own blocks make nothing sure: what is below it stays as sure as it was when the node parted. */
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
    takeBack(count) {
      if (count > finalizedAfterBlocks) throw new Error('a finalized block is never taken back');
      for (const block of blocks.splice(blocks.length - count).reverse()) {
        for (const [address, state] of block.before) runtime.put(address, state);
        for (const { transaction } of block.landed) {
          places.delete(transaction.signature);
          messages.delete(transaction.messageKey);
        }
        heights.delete(block.hash);
      }
    },
    tip,
    block: (ofSlot) => blocks.findLast((block) => block.slot === ofSlot),
    blocksFrom: (from, view) => blocks.slice(0, indexOf(view) + 1).filter((block) => block.slot >= from),
    recentBlocks: (count, view) => blocks.slice(Math.max(0, indexOf(view) + 1 - count), indexOf(view) + 1),
    landed(signature, view) {
      const found = places.get(signature);
      if (found === undefined || found.slot > tip(view).slot) return undefined;
      return view.forkedAfterSlot === null || found.slot <= view.forkedAfterSlot ? found : undefined;
    },
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
      // What the first later block that changed it found there.
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
