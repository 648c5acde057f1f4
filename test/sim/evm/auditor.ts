import type { SimDatabase } from './database.js';
import type { Block, Ledger } from './evm/ledger.js';
import { decodeTransaction } from './evm/transaction.js';
import type { Fault } from './faults.js';

/** A broken promise of the service, with its last events. */
export class Violation extends Error {}

/** What callers have asked for: which payments belong to one request. */
export interface Orders {
  /** The request that a payment of this amount belongs to; undefined: none. */
  requestOf(valueWei: bigint): number | undefined;
  /** The ids of the requests that were answered. */
  accepted(): ReadonlyMap<string, number>;
  /** The highest price that a caller named. */
  highestPriceWei(): bigint;
}

/** Checks the promises of the service against the true chain and what is stored. */
export interface Auditor {
  /** The true chain has a new block. */
  built(block: Block): void;
  /** The true chain lost blocks, newest last. */
  tookBack(blocks: readonly Block[]): void;
  /** The service sends these signed bytes. `graceMs`: how long they may have been on their way. */
  broadcast(raw: string, nowMs: number, graceMs: number): void;
  /** The key was used elsewhere. */
  usedElsewhere(): void;
  /** Checks what was stored since the last time. */
  look(): void;
  /** Checks everything at the end. */
  finish(): void;
  /** What was covered: statuses and their changes, by how often they were seen. */
  readonly met: ReadonlyMap<string, number>;
}

/** The parts of an auditor. */
export interface AuditorOptions {
  readonly database: SimDatabase;
  readonly ledger: Ledger;
  readonly orders: Orders;
  readonly accounts: readonly { readonly relayerId: string; readonly account: string }[];
  readonly confirmations: number;
  /** The faults of the run. */
  readonly faults: ReadonlySet<Fault>;
  elapsedMs(): number;
}

interface Row {
  readonly id: string;
  readonly relayer_id: string;
  readonly status: string;
  readonly status_reason: string | null;
  readonly failure_reason: string | null;
  readonly intent: string;
  readonly content: string;
  readonly nonce: string | null;
  readonly mined_version: number | null;
  readonly mined_block_number: string | null;
  readonly mined_block_hash: string | null;
  readonly mined_succeeded: number | null;
  readonly revision: number;
  readonly position: number;
}

interface AttemptRow {
  readonly seq: number;
  readonly transaction_id: string;
  readonly version: number;
  readonly purpose: string;
  readonly nonce: string;
  readonly hash: string;
  readonly raw: string;
}

const finals: readonly string[] = ['confirmed', 'failed', 'canceled', 'expired'];
/** No attempt may bid this many times more than the market ever asked or a caller named. */
const maxBidFactor = 25n;
/** The same without nodes that demand more than others. */
const maxBidFactorOfMarket = 4n;
const demanding: readonly Fault[] = ['never outbid', 'strict pool', 'replace', 'cancel', 'cancel all'];
/** No transaction needs more attempts than this; callers' replacements are few. */
const maxAttempts = 40;

/** Nodes that were behind when the chain lost blocks have caught up. */
const quietAfterReorgMs = 300_000;

/** A node that shows a used nonce as free makes the service fill it, which costs nothing. Not more often than this. */
const maxIdleFillers = 20;

/** True for a transaction that the service itself made. Callers never send nothing. */
function isFiller({ content }: Row): boolean {
  return content.includes('"valueWei":{"$int":"0"}');
}

/** Makes an auditor. Its methods throw `Violation`. */
export function createAuditor({ database, ledger, orders, accounts, confirmations, faults, elapsedMs }: AuditorOptions): Auditor {
  /** How often each request is on the true chain now. */
  const paid = new Map<number, number>();
  const known = new Map<string, Row>();
  const attempts = new Map<string, AttemptRow[]>();
  const hashes = new Map<string, AttemptRow>();
  const positions = new Map<string, number>();
  const told = new Map<string, string>();
  const met = new Map<string, number>();
  let foreign = 0;
  let fillers = 0;
  let paidFillers = 0;
  let lastAttempt = 0;
  let lastEvent = 0;
  let peakPriceWei = 0n;
  /** When the chain last lost blocks. */
  let reorgAtMs = Number.NEGATIVE_INFINITY;
  let blocksSinceReorg = 0;
  /** The slots of foreign transactions that the last reorg removed. */
  const freed = new Set<string>();
  const isDemanding = demanding.some((fault) => faults.has(fault));
  const mayShowOtherBlocks = faults.has('invented blocks');
  const mayShowUsedAsFree = faults.has('lag') || faults.has('nonce lie');

  function require(isTrue: boolean, sentence: () => string): void {
    if (!isTrue) throw new Violation(sentence());
  }

  /** What is stored about a transaction. */
  function history(id: string): string {
    const rows = [
      ...database.query<object>('select * from transactions where id = ?', id),
      ...database.query<object>('select version, purpose, nonce, hash, created_at_ms from attempts where transaction_id = ?', id),
    ];
    return rows.map((row) => JSON.stringify(row)).join('\n');
  }

  function count(name: string): void {
    met.set(name, (met.get(name) ?? 0) + 1);
  }

  function pay(block: Block, by: 1 | -1): void {
    for (const { transaction } of block.executed) {
      const id = hashes.get(transaction.hash)?.transaction_id ?? '';
      const row = known.get(id);
      if (row !== undefined && isFiller(row)) {
        paidFillers += by;
        require(paidFillers <= foreign, () =>
          `${paidFillers} gaps are paid for, but the key was used elsewhere ${foreign} times:\n${[...known.keys()].map(history).join('\n')}`);
      }
      const request = orders.requestOf(transaction.valueWei);
      if (request === undefined) continue;
      const times = (paid.get(request) ?? 0) + by;
      paid.set(request, times);
      require(times <= 1, () =>
        `request ${request} is on the chain twice: nonce ${transaction.nonce} of ${transaction.hash} in block ${block.number}`);
    }
  }

  function readAttempts(): void {
    const rows = database.query<AttemptRow>(
      'select seq, transaction_id, version, purpose, nonce, hash, raw from attempts where seq > ? order by seq',
      lastAttempt,
    );
    for (const row of rows) {
      lastAttempt = row.seq;
      const own = attempts.get(row.transaction_id) ?? [];
      own.push(row);
      attempts.set(row.transaction_id, own);
      require(!hashes.has(row.hash), () => `two attempts have the hash ${row.hash}`);
      hashes.set(row.hash, row);
      const factor = isDemanding ? maxBidFactor : maxBidFactorOfMarket;
      const limit = factor * (peakPriceWei > orders.highestPriceWei() ? peakPriceWei : orders.highestPriceWei());
      const bid = decodeTransaction(row.raw).maxFeeWei;
      require(bid <= limit, () => `attempt ${row.version} of ${row.transaction_id} bids ${bid}, more than ${limit}`);
      require(own.length <= maxAttempts, () => `${row.transaction_id} has ${own.length} attempts`);
      if (own.length > 1) count(`attempt over attempt: ${row.purpose}`);
    }
  }

  function readEvents(): void {
    const rows = database.query<{ seq: number; order_key: string; body: string }>(
      "select seq, order_key, body from events where seq > ? and event = 'transaction_update' order by seq",
      lastEvent,
    );
    for (const { seq, order_key, body } of rows) {
      lastEvent = seq;
      const { status } = JSON.parse(body).payload;
      const before = told.get(order_key);
      require(before === undefined || !finals.includes(before), () => `${order_key} has an event ${status} after ${before}`);
      require(before !== undefined || status === 'pending' || known.get(order_key) === undefined, () =>
        `the first event of ${order_key} is ${status}`);
      told.set(order_key, status);
    }
  }

  function attemptOf(row: Row): AttemptRow | undefined {
    return attempts.get(row.id)?.find(({ version }) => version === row.mined_version);
  }

  /** A final record equals the true chain. */
  function requireTrue(row: Row): void {
    const { id, status } = row;
    const own = attempts.get(id) ?? [];
    const contents = own.filter(({ purpose }) => purpose === 'content');
    const onChain = own.filter(({ hash }) => ledger.blockOf(hash) !== undefined);
    require(onChain.length <= 1, () => `${id} has ${onChain.length} attempts on the chain`);
    const mined = attemptOf(row);
    if (mined !== undefined) {
      const block = ledger.blockOf(mined.hash);
      require(block !== undefined, () => `${id} is ${status}, but attempt ${mined.version} is in no block`);
      const executed = block?.executed.find(({ transaction }) => transaction.hash === mined.hash);
      require(String(block?.number) === row.mined_block_number && block?.hash === row.mined_block_hash, () =>
        `${id} is ${status} in another block than its own`);
      require(executed?.succeeded === (row.mined_succeeded === 1), () => `${id} shows another result than its block`);
      const expected = {
        content: executed?.succeeded ? 'confirmed' : 'failed',
        cancel: 'canceled',
        expire: 'expired',
        release_slot: 'failed',
      }[mined.purpose];
      require(status === expected, () => `${id} is ${status}, but attempt ${mined.version} (${mined.purpose}) was mined`);
      return;
    }
    require(status !== 'confirmed', () => `${id} is confirmed without a block`);
    require(row.failure_reason !== 'unresolvable', () => `${id} is given up although nodes can show what used its nonce:\n${history(id)}`);
    const landed = contents.find(({ hash }) => ledger.blockOf(hash) !== undefined);
    require(landed === undefined, () => `${id} is ${status}, but attempt ${landed?.version} of its content is on the chain`);
  }

  /** A final status rests on the required confirmations. */
  function requireEarned(row: Row): void {
    const mined = attemptOf(row);
    if (mined === undefined) return;
    const block = ledger.blockOf(mined.hash);
    const depth = block === undefined ? 0 : ledger.head().number - block.number + 1;
    require(depth >= confirmations, () => `${row.id} is ${row.status} with ${depth} of ${confirmations} confirmations`);
  }

  /** The service gave a transaction another nonce: a foreign one is final in its slot. */
  function requireDisplaced(before: Row): void {
    const account = accounts.find(({ relayerId }) => relayerId === before.relayer_id)?.account.toLowerCase();
    const slot = ledger.userOf(account ?? '', Number(before.nonce));
    require(slot !== undefined && !hashes.has(slot.hash), () =>
      `${before.id} lost nonce ${before.nonce}, which no foreign transaction has used:\n${history(before.id)}`);
    const depth = ledger.head().number - (slot?.block.number ?? 0) + 1;
    require(depth >= confirmations, () =>
      `${before.id} lost nonce ${before.nonce} to a foreign transaction with ${depth} of ${confirmations} confirmations`);
  }

  /** A block that is there and was not moved for a while was never lost. */
  function requireLost(before: Row, row: Row): void {
    if (before.status !== 'mined' || row.status !== 'submitted' || mayShowOtherBlocks) return;
    const isThere = ledger.at(Number(before.mined_block_number))?.hash === before.mined_block_hash;
    require(!isThere || elapsedMs() - reorgAtMs < quietAfterReorgMs, () =>
      `${row.id} is no longer mined, but its block ${before.mined_block_number} is still on the chain:\n${history(row.id)}`);
  }

  /** A gap that a reorg made is filled when two heads have shown it. */
  function requireSeenTwice(row: Row): void {
    if (mayShowUsedAsFree || !freed.has(`${row.relayer_id} ${row.nonce}`)) return;
    require(blocksSinceReorg > 0, () => `the gap at nonce ${row.nonce} is filled at the first head that shows it`);
  }

  function see(row: Row): void {
    const before = known.get(row.id);
    known.set(row.id, row);
    if (before === undefined && isFiller(row)) {
      fillers += 1;
      count('a gap is filled');
      require(fillers <= foreign + maxIdleFillers, () => `${fillers} gaps are filled, but the key was used elsewhere ${foreign} times`);
    }
    if (before === undefined && isFiller(row)) requireSeenTwice(row);
    if (before !== undefined && before.nonce !== null && row.nonce !== before.nonce) requireDisplaced(before);
    if (before !== undefined) requireLost(before, row);
    if (before?.status !== row.status) count(`${before?.status ?? 'new'} > ${row.status}`);
    if (before !== undefined && before.nonce !== null && row.nonce !== before.nonce) count('another nonce');
    if (before !== undefined && finals.includes(before.status))
      throw new Violation(`${row.id} was ${before.status} and changed to ${row.status}`);
    require(before === undefined || row.revision > before.revision, () => `${row.id} went back in revision`);
    require(told.get(row.id) === row.status, () => `${row.id} is ${row.status}, but its last event says ${told.get(row.id)}`);
    if (!finals.includes(row.status)) return;
    requireTrue(row);
    requireEarned(row);
  }

  function look(): void {
    readAttempts();
    readEvents();
    for (const { relayerId } of accounts) {
      const rows = database.query<Row>(
        `select id, relayer_id, status, status_reason, failure_reason, intent, content, nonce, mined_version, mined_block_number, mined_block_hash,
         mined_succeeded, revision, position from transactions where relayer_id = ? and position > ? order by position`,
        relayerId,
        positions.get(relayerId) ?? 0,
      );
      for (const row of rows) {
        positions.set(relayerId, row.position);
        see(row);
      }
    }
  }

  return {
    met,
    built(block) {
      const price = 2n * block.baseFeeWei + 2n * block.marketTipWei;
      if (price > peakPriceWei) peakPriceWei = price;
      blocksSinceReorg += 1;
      pay(block, 1);
    },
    tookBack(blocks) {
      reorgAtMs = elapsedMs();
      // The blocks in place of the lost ones come at once.
      blocksSinceReorg = -blocks.length - 1;
      freed.clear();
      for (const block of blocks) {
        pay(block, -1);
        for (const { transaction } of block.executed) {
          const owner = accounts.find(({ account }) => account.toLowerCase() === transaction.from);
          if (!hashes.has(transaction.hash)) freed.add(`${owner?.relayerId} ${transaction.nonce}`);
        }
      }
    },
    broadcast(raw, nowMs, graceMs) {
      const { hash } = decodeTransaction(raw);
      const [stored] = database.query<{ purpose: string; valid_until_ms: number | null; id: string; mined_version: number | null }>(
        'select a.purpose, t.valid_until_ms, t.id, t.mined_version from attempts a join transactions t on t.id = a.transaction_id where a.hash = ?',
        hash,
      );
      if (stored === undefined) throw new Violation(`${hash} is broadcast, but not stored`);
      const { id, purpose, valid_until_ms: until, mined_version: minedVersion } = stored;
      // What was mined in time is restored if the chain loses it.
      const mayGo = purpose !== 'content' || minedVersion !== null || until === null || nowMs <= until + graceMs;
      require(mayGo, () => `${id} is broadcast ${nowMs - (until ?? 0)} ms after its valid_until:\n${history(id)}`);
    },
    usedElsewhere() {
      foreign += 1;
      count('the key is used elsewhere');
    },
    look,
    finish() {
      look();
      for (const id of orders.accepted().keys()) require(known.has(id), () => `${id} was accepted and is not stored`);
      for (const row of known.values()) {
        require(finals.includes(row.status), () => `${row.id} is ${row.status} in the end: ${row.status_reason}`);
        requireTrue(row);
      }
    },
  };
}
