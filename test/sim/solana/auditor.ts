import { type Block, newest, type SolanaChain } from '../../../src/sandbox/solana/chain.js';
import { readTransactionText } from '../../../src/sandbox/solana/wire-transaction.js';
import { transfersOf } from '../../support/solana-ledger.js';
import type { Orders } from '../callers.js';
import type { SimDatabase } from '../database.js';
import { type AttemptRow, finals, followRecords, type Row, require } from '../records.js';
import type { NetworkAuditor } from '../world.js';

/** Checks the promises of the service on Solana. */
export interface SolanaAuditor extends NetworkAuditor {
  /** The true chain has a new block. */
  built(block: Block): void;
  /** The true chain lost blocks. */
  tookBack(blocks: readonly Block[]): void;
  /** Another cluster took the place of the true one: nodes serve it until `restored`. */
  reset(): void;
  /** Nodes serve the true cluster again. */
  restored(): void;
  /** The other cluster has a new block. */
  builtElsewhere(block: Block): void;
  /** A node received the attempt with this signature. */
  received(signature: string): void;
}

/** The parts of an auditor. */
export interface SolanaAuditorOptions {
  readonly database: SimDatabase;
  readonly chain: SolanaChain;
  readonly orders: Orders;
  readonly relayers: readonly { readonly relayerId: string; readonly account: string }[];
  /** The blocks for which a blockhash is valid. */
  readonly blockhashAgeBlocks: bigint;
  elapsedMs(): number;
}

/** What was drafted before a reset may be signed, and answers may be late. */
const resetGraceMs = 20_000;

/** The most that the service adds to a fee without a policy, and a signature. */
const maxFeeLamports = 10_000_000n + 5_000n;
const finalView = { ...newest, commitment: 'finalized' } as const;

/** Makes an auditor. Its methods throw `Violation`. */
export function createSolanaAuditor(options: SolanaAuditorOptions): SolanaAuditor {
  const { database, chain, orders, relayers, blockhashAgeBlocks, elapsedMs } = options;
  /** How often each request is paid on the true chain now. */
  const paid = new Map<number, number>();
  const heights = new Map<string, bigint>();
  const received = new Set<string>();
  /** When another cluster took the place of the true one; null: nodes serve the true one. */
  let resetAtMs: number | null = null;
  const records = followRecords({
    database,
    relayerIds: relayers.map(({ relayerId }) => relayerId),
    attempt: seeAttempt,
    record: see,
    elapsedMs,
  });
  const { history } = records;
  for (const block of chain.recentBlocks(Number.MAX_SAFE_INTEGER, newest)) heights.set(block.hash, block.height);

  function pay({ landed, height }: Block, by: 1 | -1): void {
    for (const { transaction, error } of landed) {
      const own = relayers.find(({ account }) => account === transaction.payer);
      if (own === undefined) continue;
      const isKnown = records.attemptBy(transaction.signature) !== undefined || records.isLost(transaction.signature);
      require(isKnown, () => `${transaction.signature} is in a block, but not stored`);
      if (error !== null) continue;
      for (const { lamports } of transfersOf(transaction.message, own.account)) {
        const request = orders.requestOf(lamports);
        if (request === undefined) continue;
        const times = (paid.get(request) ?? 0) + by;
        paid.set(request, times);
        const id = records.attemptBy(transaction.signature)?.transaction_id ?? '';
        require(times <= 1, () => `request ${request} is paid twice: again in block ${height}:\n${history(id)}`);
      }
    }
  }

  const landedOf = ({ hash }: AttemptRow) => chain.landed(hash, newest);

  /** True if no block will ever include it. */
  function isDead(row: AttemptRow): boolean {
    const height = heights.get(readTransactionText(row.raw).blockhash);
    // Otherwise its blockhash was on a fork that is gone.
    return landedOf(row) === undefined && (height === undefined || chain.tip(finalView).height > height + blockhashAgeBlocks);
  }

  function seeAttempt(row: AttemptRow, own: readonly AttemptRow[]): void {
    const sinceResetMs = resetAtMs === null ? 0 : elapsedMs() - resetAtMs;
    require(sinceResetMs <= resetGraceMs, () =>
      `attempt ${row.version} of ${row.transaction_id} is signed ${sinceResetMs} ms after a reset:\n${history(row.transaction_id)}`);
    const { feeLamports } = readTransactionText(row.raw);
    require(feeLamports <= maxFeeLamports, () => `attempt ${row.version} of ${row.transaction_id} may cost ${feeLamports} lamports`);
    for (const earlier of own.slice(0, -1))
      require(isDead(earlier), () =>
        `attempt ${row.version} of ${row.transaction_id} is signed while attempt ${earlier.version} can be included:\n${history(row.transaction_id)}`);
  }

  /** A final record equals the true chain. */
  function requireTrue(row: Row): void {
    const { id, status } = row;
    const own = records.attemptsOf(id);
    const mined = records.minedOf(row);
    if (mined !== undefined) {
      const landed = landedOf(mined);
      require(landed !== undefined, () => `${id} is ${status}, but attempt ${mined.version} is in no block:\n${history(id)}`);
      require(String(landed.slot) === row.mined_block_number, () => `${id} is ${status} in another block than its own`);
      require((landed.error === null) === (row.mined_succeeded === 1), () => `${id} shows another result than its block`);
      require(status === (landed.error === null ? 'confirmed' : 'failed'), () => `${id} is ${status}, but its attempt was mined`);
      return;
    }
    require(status !== 'confirmed', () => `${id} is confirmed without a block`);
    const alive = own.find((one) => !isDead(one));
    require(alive === undefined, () =>
      `${id} is ${status}, but attempt ${alive?.version} can be included or is in a block:\n${history(id)}`);
  }

  /** A final status rests on a finalized block. */
  function requireEarned(row: Row): void {
    const mined = records.minedOf(row);
    const landed = mined === undefined ? undefined : landedOf(mined);
    const isFinal = landed === undefined || chain.commitmentOf(landed.slot, newest) === 'finalized';
    require(isFinal, () => `${row.id} is ${row.status} in a block that is not finalized`);
  }

  function see(row: Row, before: Row | undefined): void {
    if (before?.status === 'sent' && row.status === 'submitted')
      require(records.attemptsOf(row.id).some(({ hash }) => received.has(hash)), () =>
        `${row.id} is submitted, but no node has received it:\n${history(row.id)}`);
    if (!finals.includes(row.status)) return;
    requireTrue(row);
    requireEarned(row);
  }

  return {
    met: records.met,
    built(block) {
      heights.set(block.hash, block.height);
      pay(block, 1);
    },
    tookBack(blocks) {
      for (const block of blocks) {
        heights.delete(block.hash);
        pay(block, -1);
      }
    },
    reset() {
      records.count('a reset');
      resetAtMs = elapsedMs();
    },
    restored() {
      resetAtMs = null;
    },
    builtElsewhere({ landed }) {
      for (const { transaction } of landed)
        require(!relayers.some(({ account }) => account === transaction.payer), () =>
          `${transaction.signature} is paid on a cluster that is not the relayer's`);
    },
    received: (signature) => void received.add(signature),
    broadcast: records.broadcast,
    look: records.look,
    accepted: records.restored,
    wentBack() {
      const { attempts, accepted } = records.wentBack(orders.accepted().keys());
      return accepted > 0 || attempts.some(({ hash }) => received.has(hash));
    },
    finish() {
      records.finish(orders.accepted().keys());
      for (const row of records.known.values()) requireTrue(row);
    },
  };
}
