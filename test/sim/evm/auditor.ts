import type { Orders } from '../callers.js';
import type { SimDatabase } from '../database.js';
import type { Fault } from '../faults.js';
import { type AttemptRow, finals, followRecords, type Row, require } from '../records.js';
import { createSpendingAudit, type SpendingAuditParts } from '../spending-audit.js';
import type { SimRules } from '../spending-rules.js';
import type { NetworkAuditor } from '../world.js';
import type { Block, Ledger } from './ledger.js';
import { decodeTransaction } from './transaction.js';

/** Checks the promises of the service against the true chain and what is stored. */
export interface Auditor extends NetworkAuditor {
  /** The true chain has a new block. */
  built(block: Block): void;
  /** The true chain lost blocks, newest last. */
  tookBack(blocks: readonly Block[]): void;
  /** The key was used elsewhere. */
  usedElsewhere(): void;
  /** A node received the attempt with this hash. */
  received(hash: string): void;
  /** A node refused the attempt with this hash because it bids too little. */
  refusedBid(hash: string): void;
  /** A node showed an account's next nonce at this block: a number, or its newest one by name. */
  showedNonce(account: string, next: number, block: string): void;
}

/** The parts of an auditor. */
export interface AuditorOptions {
  readonly database: SimDatabase;
  readonly ledger: Ledger;
  readonly orders: Orders & {
    /** The highest price that a caller named. */
    highestPriceWei(): bigint;
  };
  readonly accounts: readonly { readonly relayerId: string; readonly account: string }[];
  /** Absent: the relayers have none. */
  readonly rules?: SimRules & Pick<SpendingAuditParts, 'keyOf'>;
  readonly confirmations: number;
  /** The faults of the run. */
  readonly faults: ReadonlySet<Fault>;
  elapsedMs(): number;
  /** What the service can know: no bid is compared with a market of liars, and liars alone can make it fill gaps and misread a status. */
  readonly told?: { readonly market: 'by liars'; readonly chain: 'by liars alone' | 'by one that is honest too' };
}

/** No attempt may bid this many times more than the market ever asked or a caller named. */
const maxBidFactor = 25n;
/** The same without nodes that demand more than others. */
const maxBidFactorOfMarket = 4n;
const demanding: readonly Fault[] = ['never outbid', 'strict pool', 'replace', 'cancel', 'cancel all'];
/** A bid of this many times what the market asked in the newest blocks meets the market for every speed. */
const plentyFactor = 2n;
/** The service may have seen the price of any of this many newest blocks. */
const recentBlocks = 60;
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

/** The hashes of the transactions that a block pays. */
function paidIn({ executed }: Block): readonly string[] {
  return executed.flatMap(({ transaction, succeeded }) => (succeeded ? transaction.hash : []));
}

/** The highest price that this block justifies. */
function askedBy({ baseFeeWei, marketTipWei }: Block): bigint {
  return 2n * (baseFeeWei + marketTipWei);
}

function highest(amounts: readonly bigint[]): bigint {
  return amounts.reduce((most, amount) => (amount > most ? amount : most), 0n);
}

/** Without a fee history, the tip is what a gas price leaves above a base fee, which may be that of the next block. */
function greatestFall(blocks: readonly Pick<Block, 'baseFeeWei'>[]): bigint {
  return highest(blocks.map(({ baseFeeWei }, index) => baseFeeWei - (blocks[index + 1]?.baseFeeWei ?? baseFeeWei)));
}

/** Makes an auditor. Its methods throw `Violation`. */
export function createAuditor({
  database,
  ledger,
  orders,
  accounts,
  rules,
  confirmations,
  faults,
  elapsedMs,
  told: toldOf,
}: AuditorOptions): Auditor {
  /** How often each request is on the true chain now. */
  const paid = new Map<number, number>();
  const received = new Set<string>();
  const refusedBids = new Set<string>();
  let foreign = 0;
  let fillers = 0;
  let paidFillers = 0;
  let peakPriceWei = askedBy(ledger.head());
  /** What the newest blocks asked. */
  const market: Pick<Block, 'baseFeeWei' | 'marketTipWei'>[] = [];
  /** When the chain last lost blocks. */
  let reorgAtMs = Number.NEGATIVE_INFINITY;
  /** The slots of foreign transactions that the last reorg removed, each with the blocks at which a node has shown it as free since. */
  const freed = new Map<string, Set<string>>();
  const isDemanding = demanding.some((fault) => faults.has(fault));
  const mayShowOtherBlocks = faults.has('invented blocks');
  const mayShowUsedAsFree = faults.has('lag') || faults.has('nonce lie');
  const isToldByLiars = toldOf?.chain === 'by liars alone';
  const relayerIds = accounts.map(({ relayerId }) => relayerId);
  const records = followRecords({ database, relayerIds, attempt: seeAttempt, record: see, elapsedMs });
  const { known, history, count } = records;
  /** The amounts of records, and those of attempts by their hashes. */
  const contents = new WeakMap<Row, bigint>();
  const amounts = new Map<string, bigint>();
  const spending =
    rules === undefined
      ? null
      : createSpendingAudit({
          rules,
          relayerIds,
          records,
          keyOf: rules.keyOf,
          paidByContent(row) {
            const amount = contents.get(row) ?? BigInt(/"valueWei":\{"\$int":"(\d+)"\}/.exec(row.content)?.[1] ?? 0);
            contents.set(row, amount);
            return amount;
          },
          paidByAttempt({ hash, raw }) {
            const amount = amounts.get(hash) ?? decodeTransaction(raw).valueWei;
            amounts.set(hash, amount);
            return amount;
          },
          elapsedMs,
        });

  function pay(block: Block, by: 1 | -1): void {
    for (const { transaction } of block.executed) {
      const row = known.get(records.attemptBy(transaction.hash)?.transaction_id ?? '');
      if (row !== undefined && isFiller(row)) {
        paidFillers += by;
        require(paidFillers <= foreign || isToldByLiars, () =>
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

  function seeAttempt(row: AttemptRow, own: readonly AttemptRow[]): void {
    require(own.length <= maxAttempts, () => `${row.transaction_id} has ${own.length} attempts`);
    if (toldOf !== undefined) return;
    const factor = isDemanding ? maxBidFactor : maxBidFactorOfMarket;
    const limit = factor * (peakPriceWei > orders.highestPriceWei() ? peakPriceWei : orders.highestPriceWei());
    const bid = decodeTransaction(row.raw).maxFeeWei;
    require(bid <= limit, () => `attempt ${row.version} of ${row.transaction_id} bids ${bid}, more than ${limit}`);
    requireNeeded(row, own.at(-2));
  }

  /** A bid that meets the market is raised only if a node refused it as too low. A caller's replacement has another content. */
  function requireNeeded(row: AttemptRow, before: AttemptRow | undefined): void {
    if (before?.purpose !== row.purpose || before.nonce !== row.nonce || refusedBids.has(before.hash)) return;
    const [bid, earlier] = [decodeTransaction(row.raw), decodeTransaction(before.raw)];
    if (bid.valueWei !== earlier.valueWei || bid.data !== earlier.data) return;
    const tipWei = highest(market.map(({ marketTipWei }) => marketTipWei)) + (faults.has('no fee history') ? greatestFall(market) : 0n);
    const priceWei = highest(market.map(({ baseFeeWei }) => baseFeeWei)) + tipWei;
    const wasPlenty = earlier.maxFeeWei >= plentyFactor * priceWei && earlier.priorityWei >= plentyFactor * tipWei;
    require(!wasPlenty || bid.maxFeeWei <= earlier.maxFeeWei, () =>
      `attempt ${row.version} of ${row.transaction_id} raises a bid of ${earlier.maxFeeWei} that meets the market of ${priceWei}`);
  }

  /** A final record equals the true chain. */
  function requireTrue(row: Row): void {
    const { id, status } = row;
    const own = records.attemptsOf(id);
    const contents = own.filter(({ purpose }) => purpose === 'content');
    const onChain = own.filter(({ hash }) => ledger.blockOf(hash) !== undefined);
    require(onChain.length <= 1, () => `${id} has ${onChain.length} attempts on the chain`);
    const mined = records.minedOf(row);
    if (mined !== undefined) {
      const block = ledger.blockOf(mined.hash);
      require(block !== undefined, () => `${id} is ${status}, but attempt ${mined.version} is in no block`);
      const executed = block.executed.find(({ transaction }) => transaction.hash === mined.hash);
      require(String(block.number) === row.mined_block_number && block.hash === row.mined_block_hash, () =>
        `${id} is ${status} in another block than its own`);
      require(executed?.succeeded === (row.mined_succeeded === 1) || isToldByLiars, () => `${id} shows another result than its block`);
      const expected = {
        content: executed?.succeeded ? 'confirmed' : 'failed',
        cancel: 'canceled',
        expire: 'expired',
        release_slot: 'failed',
      }[mined.purpose];
      require(status === expected || isToldByLiars, () => `${id} is ${status}, but attempt ${mined.version} (${mined.purpose}) was mined`);
      return;
    }
    require(status !== 'confirmed', () => `${id} is confirmed without a block`);
    require(row.failure_reason !== 'unresolvable' || faults.has('rewind'), () =>
      `${id} is given up although nodes can show what used its nonce:\n${history(id)}`);
    const landed = contents.find(({ hash }) => ledger.blockOf(hash) !== undefined);
    require(landed === undefined, () => `${id} is ${status}, but attempt ${landed?.version} of its content is on the chain`);
  }

  /** A final status rests on the required confirmations. */
  function requireEarned(row: Row): void {
    const mined = records.minedOf(row);
    if (mined === undefined) return;
    const block = ledger.blockOf(mined.hash);
    const depth = block === undefined ? 0 : ledger.head().number - block.number + 1;
    require(depth >= confirmations, () => `${row.id} is ${row.status} with ${depth} of ${confirmations} confirmations`);
  }

  /** The service gave a transaction another nonce: a foreign one is final in its slot. */
  function requireDisplaced(before: Row): void {
    const account = accounts.find(({ relayerId }) => relayerId === before.relayer_id)?.account.toLowerCase();
    const slot = ledger.userOf(account ?? '', Number(before.nonce));
    require(slot !== undefined && records.attemptBy(slot.hash) === undefined, () =>
      `${before.id} lost nonce ${before.nonce}, which no foreign transaction has used:\n${history(before.id)}`);
    const depth = ledger.head().number - slot.block.number + 1;
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

  /**
   * A gap that a reorg made is filled when it has been shown at two heads. A head of before the reorg may be one of them: nodes answer by
   * its number.
   */
  function requireSeenTwice(row: Row): void {
    const shownAt = freed.get(`${row.relayer_id} ${row.nonce}`);
    if (mayShowUsedAsFree || shownAt === undefined) return;
    require(shownAt.size > 1, () => `the gap at nonce ${row.nonce} is filled at the first head that shows it`);
  }

  function see(row: Row, before: Row | undefined): void {
    if (before === undefined && isFiller(row)) {
      fillers += 1;
      count('a gap is filled');
      require(fillers <= foreign + maxIdleFillers, () => `${fillers} gaps are filled, but the key was used elsewhere ${foreign} times`);
      requireSeenTwice(row);
    }
    if (before !== undefined && before.nonce !== null && row.nonce !== before.nonce) {
      count('another nonce');
      requireDisplaced(before);
    }
    if (before !== undefined) requireLost(before, row);
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
      const price = askedBy(block);
      if (price > peakPriceWei) peakPriceWei = price;
      market.push(block);
      if (market.length > recentBlocks) market.shift();
      pay(block, 1);
      spending?.paid(paidIn(block), 'block');
    },
    tookBack(blocks) {
      reorgAtMs = elapsedMs();
      freed.clear();
      for (const block of blocks) {
        pay(block, -1);
        spending?.paid(paidIn(block), 'reorg');
        for (const { transaction } of block.executed) {
          const owner = accounts.find(({ account }) => account.toLowerCase() === transaction.from);
          if (records.attemptBy(transaction.hash) === undefined) freed.set(`${owner?.relayerId} ${transaction.nonce}`, new Set());
        }
      }
    },
    broadcast: records.broadcast,
    received: (hash) => void received.add(hash),
    refusedBid: (hash) => void refusedBids.add(hash),
    showedNonce(address, next, block) {
      const owner = accounts.find(({ account }) => account.toLowerCase() === address);
      for (const [slot, shownAt] of freed) {
        const [relayerId, nonce] = slot.split(' ');
        if (relayerId === owner?.relayerId && next <= Number(nonce))
          shownAt.add(block === 'latest' ? `newest, at answer ${shownAt.size}` : block);
      }
    },
    usedElsewhere() {
      foreign += 1;
      count('the key is used elsewhere');
    },
    look() {
      records.look();
      spending?.look();
    },
    accepted: records.restored,
    wentBack() {
      const { attempts, accepted } = records.wentBack(orders.accepted().keys());
      spending?.wentBack();
      // Their nonces are used, or are gaps.
      foreign += attempts.length;
      return accepted > 0 || attempts.some(({ hash }) => received.has(hash));
    },
    finish() {
      records.finish(orders.accepted().keys());
      for (const row of known.values()) requireTrue(row);
    },
    ...(spending === null ? {} : { usage: spending.finish }),
  };
}
