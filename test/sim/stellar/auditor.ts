import { defaultMaxFeeStroops } from '../../../src/chains/stellar/price-attempt.js';
import type { AppliedTransaction } from '../../../src/sandbox/stellar/apply.js';
import type { ClosedLedger } from '../../../src/sandbox/stellar/closed-ledger.js';
import type { StellarLedger } from '../../../src/sandbox/stellar/ledger.js';
import type { Orders } from '../callers.js';
import type { SimDatabase } from '../database.js';
import { type AttemptRow, finals, followRecords, type Row, require } from '../records.js';
import type { Callers, NetworkAuditor } from '../world.js';
import { amountOf } from './operations.js';

/** Checks the promises of the service on Stellar. */
export interface StellarAuditor extends NetworkAuditor {
  /** The network has a new ledger. */
  closed(ledger: ClosedLedger): void;
  /** Another network took the place of the true one: nodes serve it until `restored`. */
  reset(): void;
  /** A process starts, which knows nothing of a reset. */
  started(): void;
  /** Nodes serve the true network again. */
  restored(): void;
  /** The other network has these transactions in a new ledger. */
  closedElsewhere(transactions: readonly AppliedTransaction[]): void;
  /** A node received the attempt with this hash. */
  received(hash: string): void;
  /** A node refused the attempt with this hash because it bids too little. */
  refusedBid(hash: string): void;
  /** The key was used elsewhere, for the transaction with this hash. */
  usedElsewhere(hash: string): void;
}

/** The parts of an auditor. */
export interface StellarAuditorOptions {
  readonly database: SimDatabase;
  readonly ledger: StellarLedger;
  readonly orders: Orders & Pick<Callers, 'sent'>;
  readonly relayers: readonly { readonly relayerId: string; readonly account: string }[];
  /** True: of two nodes one shows another market than there is, and nothing shows which of them is right: a ledger charges no more for it. */
  readonly isMarketContested?: boolean;
  elapsedMs(): number;
}

/** What was drafted before a reset may be signed, answers may be late, and two heads must show it. */
const resetGraceMs = 60_000;

/** Nodes that lie about a sequence number may make the service fill it. Not more often than this. */
const maxIdleFillers = 20;
/** No transaction needs more attempts than this. */
const maxAttempts = 60;
/** The service may have seen the price of any of this many newest ledgers: the statistics of contract calls have 50, of a node that may be 40 behind. */
const recentLedgers = 110;
const baseStroops = 100n;

/** Makes an auditor. Its methods throw `Violation`. */
export function createStellarAuditor(options: StellarAuditorOptions): StellarAuditor {
  const { database, ledger, orders, relayers, isMarketContested = false, elapsedMs } = options;
  const paid = new Map<number, number>();
  /** The hash of the transaction that used a sequence number of an account; that of the inner one, if it was in a fee-bump envelope. */
  const users = new Map<string, string>();
  const received = new Set<string>();
  /** When another network took the place of the true one; null: nodes serve the true one. */
  let resetAtMs: number | null = null;
  const refusedBids = new Set<string>();
  /** What the newest ledgers asked per operation. */
  const market: bigint[] = [];
  const foreign = new Set<string>();
  const records = followRecords({
    database,
    relayerIds: relayers.map(({ relayerId }) => relayerId),
    attempt: seeAttempt,
    record: see,
    elapsedMs,
  });
  const { history } = records;

  function seeApplied({ frame, isSuccess }: AppliedTransaction, number: number): void {
    users.set(`${frame.source} ${frame.sequence}`, frame.innerHash);
    if (frame.isSoroban) records.count('a contract call is in a ledger');
    const isOurs = [frame.source, frame.feeSource].some((account) => relayers.some((one) => one.account === account));
    const isKnown = [frame.hash, frame.innerHash].some((hash) => foreign.has(hash) || records.attemptBy(hash) !== undefined);
    require(!isOurs || isKnown, () => `${frame.hash} is in a ledger, but not stored`);
    if (!isSuccess) return;
    for (const operation of frame.transaction.operations) {
      if (operation.body.type === 'accountMerge') records.count('an account ends');
      const amount = amountOf(operation);
      const request = amount === null ? undefined : orders.requestOf(amount);
      if (request === undefined) continue;
      const times = (paid.get(request) ?? 0) + 1;
      paid.set(request, times);
      const id = records.attemptBy(frame.hash)?.transaction_id ?? '';
      require(times <= 1, () => `request ${request} is paid twice: again in ledger ${number}:\n${history(id)}`);
    }
  }

  /** What a caller asked for never bids more than the caller allows, or than the default. */
  function requireWithinMaxFee({ transaction_id: id, raw, version }: AttemptRow): void {
    const [stored] = database.query<{ content: string }>('select content from transactions where id = ?', id);
    const { maxFeeStroops }: { maxFeeStroops: { $int: string } | null } = JSON.parse(stored?.content ?? '');
    const { fullFeeStroops } = ledger.read(raw);
    const limitStroops = maxFeeStroops === null ? defaultMaxFeeStroops : BigInt(maxFeeStroops.$int);
    require(fullFeeStroops <= limitStroops, () =>
      `attempt ${version} of ${id} bids ${fullFeeStroops} stroops; at most ${limitStroops} are allowed:\n${history(id)}`);
  }

  /** A bid that meets the market is raised only if a node refused it as too low. A caller's replacement has another inner transaction. */
  function requireNeeded(row: AttemptRow, before: AttemptRow | undefined): void {
    if (before === undefined || refusedBids.has(before.hash)) return;
    const [bid, earlier] = [ledger.read(row.raw), ledger.read(before.raw)];
    if (bid.innerHash !== earlier.innerHash) return;
    // One that is signed again after the earlier attempts have died may bid less.
    if (bid.inclusionFeeStroops * earlier.feeOperations <= earlier.inclusionFeeStroops * bid.feeOperations) return;
    records.count('a bid is raised');
    const askedStroops = market.reduce((most, one) => (one > most ? one : most), baseStroops);
    require(isMarketContested || earlier.inclusionFeeStroops < askedStroops * earlier.feeOperations, () =>
      `attempt ${row.version} of ${row.transaction_id} raises a bid of ${earlier.inclusionFeeStroops} for ${earlier.feeOperations} operations to ${bid.inclusionFeeStroops}; the market is ${askedStroops}:\n${history(row.transaction_id)}`);
  }

  function seeAttempt(row: AttemptRow, own: readonly AttemptRow[]): void {
    require(own.length <= maxAttempts, () => `${row.transaction_id} has ${own.length} attempts`);
    requireNeeded(row, own.at(-2));
    // A caller may replace or cancel what is signed until the relayer is disabled.
    const isOwnWish = own.length === 1 || row.purpose === 'expire' || row.purpose === 'release_slot';
    const sinceResetMs = resetAtMs === null || !isOwnWish ? 0 : elapsedMs() - resetAtMs;
    require(sinceResetMs <= resetGraceMs, () =>
      `attempt ${row.version} of ${row.transaction_id} is signed ${sinceResetMs} ms after a reset:\n${history(row.transaction_id)}`);
    if (row.purpose === 'content') requireWithinMaxFee(row);
    const versions = own.filter(({ nonce }) => nonce === row.nonce);
    const landed = versions.find(({ hash }) => landedOf(hash) !== undefined && hash !== row.hash);
    if (landed !== undefined && row.nonce !== null) records.count('an attempt is signed after another has landed');
  }

  /** The envelope with this hash in a ledger, or the inner transaction. */
  const landedOf = (hash: string) => ledger.find(hash);

  /** A final record equals the ledgers. */
  function requireTrue(row: Row): void {
    const { id, status } = row;
    const own = records.attemptsOf(id);
    const mined = records.minedOf(row);
    if (mined !== undefined) {
      // Another transaction with the same envelope of another account lands for both.
      const landed = landedOf(mined.hash) ?? (row.nonce === null ? landedOf(ledger.read(mined.raw).innerHash) : undefined);
      require(landed !== undefined, () => `${id} is ${status}, but attempt ${mined.version} is in no ledger:\n${history(id)}`);
      const shown = own.find(({ hash }) => hash === landed.transaction.frame.hash);
      require(shown === undefined || shown === mined, () =>
        `${id} shows attempt ${mined.version}, but attempt ${shown?.version} is in the ledger:\n${history(id)}`);
      require(String(landed.ledger.sequence) === row.mined_block_number, () => `${id} is ${status} in another ledger than its own`);
      require(landed.transaction.isSuccess === (row.mined_succeeded === 1), () => `${id} shows another result than its ledger`);
      const expected = {
        content: landed.transaction.isSuccess ? 'confirmed' : 'failed',
        cancel: 'canceled',
        expire: 'expired',
        release_slot: 'failed',
      }[mined.purpose];
      require(status === expected, () => `${id} is ${status}, but attempt ${mined.version} (${mined.purpose}) was mined:\n${history(id)}`);
      return;
    }
    require(status !== 'confirmed', () => `${id} is confirmed without a ledger`);
    const contents = own.filter(({ purpose }) => purpose === 'content');
    const landed = contents.find(({ hash }) => landedOf(hash) !== undefined);
    require(landed === undefined, () =>
      `${id} is ${status}, but attempt ${landed?.version} of its content is in a ledger:\n${history(id)}`);
  }

  /** The service gave a transaction another sequence number: a foreign one used its own. */
  function requireDisplaced(before: Row): void {
    const account = relayers.find(({ relayerId }) => relayerId === before.relayer_id)?.account;
    const user = users.get(`${account} ${before.nonce}`);
    require(user !== undefined && records.attemptBy(user) === undefined, () =>
      `${before.id} lost sequence number ${before.nonce}, which no foreign transaction has used:\n${history(before.id)}`);
  }

  /** Ledgers never lose what they contain: a used sequence number is no gap. */
  function requireGap(row: Row): void {
    records.count('a gap is filled');
    const account = relayers.find(({ relayerId }) => relayerId === row.relayer_id)?.account;
    const user = users.get(`${account} ${row.nonce}`);
    require(user === undefined, () => `${row.id} fills a gap at sequence number ${row.nonce}, which ${user} has used:\n${history(row.id)}`);
  }

  /** The archived entries of a call are restored once. */
  function requireOneRestore(row: Row, before: Row): void {
    const [now, earlier] = [row, before].map(({ content }): { restoredBy?: string; operations?: unknown } => JSON.parse(content));
    if (now?.restoredBy === undefined) return;
    if (earlier?.restoredBy !== now.restoredBy) records.count('archived entries are restored first');
    const isSame = JSON.stringify(now.operations) === JSON.stringify(earlier?.operations);
    require(!isSame || earlier?.restoredBy === undefined || earlier.restoredBy === now.restoredBy, () =>
      `${row.id} is restored by ${now.restoredBy} after ${earlier?.restoredBy}:\n${history(row.id)}`);
  }

  function see(row: Row, before: Row | undefined): void {
    if (before !== undefined) requireOneRestore(row, before);
    const mostRecords = orders.sent() + foreign.size + maxIdleFillers;
    require(records.known.size <= mostRecords, () => `there are ${records.known.size} records of ${orders.sent()} requests`);
    if (before === undefined && row.status_reason?.startsWith('fills the gap') === true) requireGap(row);
    if (before?.status === 'sent' && row.status === 'submitted')
      require(records.attemptsOf(row.id).some(({ hash }) => received.has(hash)), () =>
        `${row.id} is submitted, but no node has received it:\n${history(row.id)}`);
    if (before !== undefined && before.nonce !== null && row.nonce !== before.nonce) {
      records.count('another sequence number');
      requireDisplaced(before);
    }
    if (finals.includes(row.status)) requireTrue(row);
  }

  return {
    met: records.met,
    closed({ transactions, sequence, surgeStroops }) {
      market.push(surgeStroops ?? baseStroops);
      if (market.length > recentLedgers) market.shift();
      for (const one of transactions) seeApplied(one, sequence);
    },
    reset() {
      records.count('a reset');
      resetAtMs = elapsedMs();
    },
    started() {
      if (resetAtMs !== null) resetAtMs = elapsedMs();
    },
    restored() {
      resetAtMs = null;
    },
    closedElsewhere(transactions) {
      for (const { frame } of transactions)
        require(!relayers.some(({ account }) => account === frame.source || account === frame.feeSource), () =>
          `${frame.hash} is paid on a network that is not the relayer's`);
    },
    received: (hash) => void received.add(hash),
    refusedBid: (hash) => void refusedBids.add(hash),
    usedElsewhere(hash) {
      foreign.add(hash);
      records.count('the key is used elsewhere');
    },
    broadcast: records.broadcast,
    look: records.look,
    accepted: records.restored,
    wentBack() {
      const { attempts, accepted } = records.wentBack(orders.accepted().keys());
      for (const { hash } of attempts) foreign.add(hash);
      return accepted > 0 || attempts.some(({ hash }) => received.has(hash));
    },
    finish() {
      records.finish(orders.accepted().keys());
      for (const row of records.known.values()) requireTrue(row);
    },
  };
}
