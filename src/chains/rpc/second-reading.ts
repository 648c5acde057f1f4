import type { Receipt, SecondReading, SenderTransaction } from '../../core/ports/chain/outcomes.js';
import type { Log } from '../../core/work/log.js';
import { remember } from '../../core/work/remember.js';
import { createDenials } from './denials.js';
import type { First } from './endpoint-selector.js';
import type { Rpc } from './rpc.js';

/** The same warning comes at most once in this time. */
const quietForMs = 10 * 60_000;

/** After this long without any answer of another endpoint, the word of one endpoint counts as if the network had no other one. */
export const silentForMs = 60_000;

/** What an endpoint has shown counts for as long as this, also while it has no word. */
const heardForMs = 600_000;

/** More receipts do not wait for their confirmations at a time. One whose source is forgotten is asked for twice. */
const maxSources = 20_000;

/** The number of refuted receipts that are remembered. */
const maxRefuted = 20_000;

/** After this long, an endpoint that follows the chain below a block denies it. */
const belowForMs = 60_000;

/** What the endpoint at this place shows. Null: a receipt in a block that is not on our branch, or none although it has the block. */
export interface Word {
  readonly receipt: Receipt | null;
  readonly by: number;
  /** Its newest block is recent and below the receipt's. */
  readonly isBelow?: boolean;
}

type Shown = Word & { readonly receipt: Receipt };

/** Reads receipts in a chain's own words. */
export interface ReceiptReader {
  /** What endpoints show of these receipts, by hash; left out: what none of them has a word about. Never throws because of a node. */
  read(receipts: readonly Receipt[], first: First): Promise<ReadonlyMap<string, Word>>;
  /** Returns the endpoint that shows another block there, or that block without the transaction; null: none of these does. */
  leftOutBy(receipt: Receipt, first: First): Promise<number | null>;
  /** The receipt that the endpoint at this place shows now; null: it shows none; undefined: it gives no readable answer. */
  shownBy(source: number, receipt: Receipt): Promise<Receipt | null | undefined>;
}

/** The dependencies of second readings. */
interface SecondReadingDeps {
  readonly rpc: Pick<Rpc, 'isSingle' | 'silentForMs'>;
  readonly reader: ReceiptReader;
  readonly log: Log;
  nowMs(): number;
  /** True if blocks never change once they are closed: then another block is a contradiction, and no reorg. */
  readonly keepsBlocks: boolean;
}

/** What an endpoint has shown of a transaction. */
interface Claim {
  readonly by: number;
  readonly shown: SenderTransaction | Receipt;
  readonly atMs: number;
}

/** Reads receipts again before they become final. */
export interface SecondReadings {
  /** Takes note of the endpoint that showed a transaction in a block, which cannot confirm that; undefined: it is unknown. */
  noteSource(receipt: SenderTransaction | Receipt, by: number | undefined): void;
  /** See `Sequence.readAgain`. */
  of(receipts: readonly Receipt[]): Promise<ReadonlyMap<string, SecondReading>>;
  /** True if a reading showed that its block does not hold it. An endpoint may go on to show it: then the receipt of another one counts. */
  isRefuted(receipt: SenderTransaction): boolean;
}

/** Creates second readings. No endpoint confirms its own receipt. */
export function createSecondReading({ rpc, reader, log, nowMs, keepsBlocks }: SecondReadingDeps): SecondReadings {
  const { leftOutBy } = reader;
  const below = createDenials({ nowMs, elapsedMs: nowMs }, belowForMs);
  const lost = createDenials({ nowMs, elapsedMs: nowMs }, heardForMs);
  const claims = createClaims(nowMs);
  /** Blocks that do not hold a transaction although an endpoint said so, by the transaction's hash. */
  const refuted = new Map<string, string>();
  /** Two endpoints may differ in a fact of every receipt. */
  let quietUntilMs = Number.NEGATIVE_INFINITY;

  const isRefuted = ({ hash, blockHash }: SenderTransaction): boolean => refuted.get(hash) === blockHash;

  /** What other endpoints have shown of a receipt, none of which has a word now; null: nothing. */
  function heardOf(receipt: Receipt, source: number | undefined): SecondReading | null {
    const heard = claims.lately(receipt, source).filter((shown) => !isRefuted(shown));
    const against = heard.filter((shown) => !isAlike(receipt, shown) && (keepsBlocks || isInSameBlock(receipt, shown)));
    const [other] = against;
    if (other !== undefined && 2 * against.length > heard.length) return isInSameBlock(receipt, other) ? 'status' : 'different';
    // Where blocks can be dropped, an endpoint that showed it before the reorg confirms nothing.
    return keepsBlocks && source !== undefined && heard.some((shown) => isAlike(receipt, shown)) ? 'same' : null;
  }

  /** Like `reader.read`, each from an endpoint that none of these words about it is from. */
  async function readFromOthers(receipts: readonly Receipt[], words: readonly ReadonlyMap<string, Word>[]) {
    const groups = new Map<string, { readonly asked: readonly number[]; readonly ofGroup: Receipt[] }>();
    for (const receipt of receipts) {
      const asked = words.flatMap((word) => word.get(receipt.hash)?.by ?? []);
      const group = groups.get(asked.join()) ?? { asked, ofGroup: [] };
      groups.set(asked.join(), group);
      group.ofGroup.push(receipt);
    }
    const read = await Promise.all([...groups.values()].map(({ asked, ofGroup }) => reader.read(ofGroup, { otherThan: new Set(asked) })));
    return new Map(read.flatMap((one) => [...one]));
  }

  /** If words name another block than the receipt, drops each that the block of its own endpoint does not fit. */
  async function fitting(receipt: Receipt, words: readonly Shown[]): Promise<readonly Shown[]> {
    if (words.every((word) => isInSameBlock(receipt, word.receipt))) return words;
    const misfits = await Promise.all(words.map((word) => leftOutBy(word.receipt, { only: word.by })));
    return words.filter((_, index) => misfits[index] === null);
  }

  /** True if the endpoint that showed the receipt has none any more, or another one, or its block does not fit it. */
  async function isWithdrawn(receipt: Receipt, source: number): Promise<boolean> {
    const [shown, denier] = await Promise.all([reader.shownBy(source, receipt), leftOutBy(receipt, { only: source })]);
    return denier !== null || shown === null || (shown !== undefined && !isAlike(shown, receipt));
  }

  /**
   * True if a receipt that no endpoint shows does not count. After a restart its source is forgotten: one endpoint showed it, or it would
   * not be stored. While that one may have lost its ledgers, one other endpoint does not decide alone.
   */
  async function isLost(receipt: Receipt, denier: number | null): Promise<boolean> {
    if (!keepsBlocks || claims.isKnown(receipt) || lost.isLong(receipt.hash)) return true;
    return denier !== null && (await leftOutBy(receipt, { otherThan: new Set([denier]) })) !== null;
  }

  /** Judges a receipt that its source shows and no other endpoint confirms. */
  async function judge(receipt: Receipt, source: number | undefined, other: Shown | undefined, isBelow: boolean): Promise<SecondReading> {
    const asked = source === undefined ? [] : [source];
    const denier = other === undefined ? await leftOutBy(receipt, { otherThan: new Set(asked) }) : null;
    const heard = other === undefined && denier === null ? heardOf(receipt, source) : null;
    if (heard !== null) return heard;
    if (other === undefined && denier === null) {
      if (isBelow) return below.isLong(receipt.hash) ? 'different' : 'below';
      return rpc.silentForMs(asked) >= silentForMs ? 'alone' : 'unknown';
    }
    if (source === undefined) return (await isLost(receipt, denier)) ? 'absent' : 'unknown';
    if (await isWithdrawn(receipt, source)) return 'absent';
    if (denier !== null && (await leftOutBy(receipt, { otherThan: new Set([source, denier]) })) !== null) return 'absent';
    return other !== undefined && isInSameBlock(receipt, other.receipt) ? 'status' : 'different';
  }

  /** Returns a receipt without the facts in which words that agree with it differ: a wrong fee must not delay the outcome. */
  function agreedOf(receipt: Receipt, words: readonly (Word | undefined)[]): Receipt {
    return words.filter((word) => isShown(word)).reduce((agreed, word) => withoutDisputed(agreed, word.receipt), receipt);
  }

  function withoutDisputed(receipt: Receipt, other: Receipt): Receipt {
    const { hash, facts } = receipt;
    if (facts === null || other.facts === null) return receipt;
    const gasUsed = isDisputed(facts.gasUsed, other.facts.gasUsed) ? null : facts.gasUsed;
    const feePaid = isDisputed(facts.feePaid, other.facts.feePaid) ? null : facts.feePaid;
    const returnValueXdr = isDisputed(facts.returnValueXdr, other.facts.returnValueXdr) ? null : facts.returnValueXdr;
    if (gasUsed === facts.gasUsed && feePaid === facts.feePaid && returnValueXdr === facts.returnValueXdr) return receipt;
    if (nowMs() >= quietUntilMs) {
      quietUntilMs = nowMs() + quietForMs;
      log.warn(
        { transaction: hash },
        'RPC nodes differ in the gas, the fee or the return value of a receipt; what they differ in is left out of the record',
      );
    }
    return { ...receipt, facts: { ...facts, gasUsed, feePaid, returnValueXdr } };
  }

  return {
    noteSource(receipt, by) {
      if (by === undefined) claims.forget(receipt);
      else claims.note(receipt, by);
    },
    async of(receipts) {
      const readings = new Map<string, SecondReading>(receipts.map(({ hash }) => [hash, 'alone']));
      if (rpc.isSingle() || receipts.length === 0) return readings;
      const agree = (receipt: Receipt, agreed: Receipt) => readings.set(receipt.hash, agreed === receipt ? 'same' : agreed);
      const known = receipts.flatMap((receipt): [string, Word][] => {
        const by = claims.sourceOf(receipt);
        return by === undefined ? [] : [[receipt.hash, { receipt, by }]];
      });
      const sourceless = receipts.filter((receipt) => claims.sourceOf(receipt) === undefined);
      const first = new Map([...known, ...(await reader.read(sourceless, 'head'))]);
      const second = await readFromOthers(receipts, [first]);
      const isConfirmed = (receipt: Receipt, ...words: (Word | undefined)[]): boolean =>
        words.every((word) => isShown(word) && isAlike(receipt, word.receipt));
      const disputed = receipts.filter((receipt) => !isConfirmed(receipt, first.get(receipt.hash), second.get(receipt.hash)));
      for (const receipt of receipts) agree(receipt, agreedOf(receipt, [first.get(receipt.hash), second.get(receipt.hash)]));
      const third = await readFromOthers(
        disputed.filter(({ hash }) => second.has(hash)),
        [first, second],
      );
      const settle = async (receipt: Receipt): Promise<void> => {
        const all = [first, second, third].flatMap((word) => word.get(receipt.hash) ?? []);
        const words = await fitting(
          receipt,
          all.filter((word) => isShown(word)),
        );
        for (const word of words) if (word.receipt.isOnlyBlock !== true) claims.note(word.receipt, word.by);
        const alike = words.filter((word) => isAlike(receipt, word.receipt));
        const others = words.filter((word) => !alike.includes(word));
        const [one, another] = alike.length > 1 ? alike : others;
        if (one !== undefined && another !== undefined && isAlike(one.receipt, another.receipt))
          agree(receipt, alike.length > 1 ? agreedOf(receipt, alike) : agreedOf(one.receipt, [another]));
        else {
          const isBelow = all.some((word) => word.isBelow === true);
          readings.set(receipt.hash, await judge(receipt, alike[0]?.by, others[0], isBelow));
        }
      };
      await Promise.all(disputed.map(settle));
      for (const { hash, blockHash } of receipts) if (readings.get(hash) === 'absent') remember(refuted, hash, blockHash, maxRefuted);
      return readings;
    },
    isRefuted,
  };
}

/** What endpoints have shown of transactions. Silence later does not undo it. */
function createClaims(nowMs: () => number) {
  /** By hash; what each endpoint has shown last, newest last. */
  const claims = new Map<string, readonly Claim[]>();
  const claimsOf = ({ hash }: SenderTransaction): readonly Claim[] => claims.get(hash) ?? [];
  return {
    note(transaction: SenderTransaction | Receipt, by: number): void {
      const { hash, blockNumber, blockHash } = transaction;
      const shown = 'succeeded' in transaction ? transaction : { hash, blockNumber, blockHash };
      remember(claims, hash, [...claimsOf(transaction).filter((claim) => claim.by !== by), { by, shown, atMs: nowMs() }], maxSources);
    },
    forget: ({ hash }: SenderTransaction): void => void claims.delete(hash),
    isKnown: (receipt: Receipt): boolean => claimsOf(receipt).length > 0,
    /** The endpoint that showed this receipt last; undefined: unknown, such as after a restart. */
    sourceOf: (receipt: Receipt): number | undefined => claimsOf(receipt).findLast(({ shown }) => isShownAs(receipt, shown))?.by,
    /** The receipts that other endpoints than its source have shown lately. */
    lately(receipt: Receipt, source: number | undefined): readonly Receipt[] {
      const counts = ({ by, atMs }: Claim): boolean => by !== source && nowMs() - atMs < heardForMs;
      return claimsOf(receipt).flatMap((claim) => (counts(claim) && 'succeeded' in claim.shown ? [claim.shown] : []));
    },
  };
}

function isShown(word: Word | undefined): word is Shown {
  return word !== undefined && word.receipt !== null;
}

/** True if two receipts agree on the outcome. */
function isAlike(one: Receipt, other: Receipt): boolean {
  const isOnlyBlock = one.isOnlyBlock === true || other.isOnlyBlock === true;
  return (isOnlyBlock || one.succeeded === other.succeeded) && isInSameBlock(one, other);
}

function isInSameBlock(one: Receipt, other: Receipt): boolean {
  return one.blockHash === other.blockHash && one.blockNumber === other.blockNumber;
}

/** True if this is the receipt that an endpoint has shown. */
function isShownAs(receipt: Receipt, shown: SenderTransaction | Receipt): boolean {
  if (receipt.blockHash !== shown.blockHash) return false;
  return receipt.isOnlyBlock === true || ('succeeded' in shown && isAlike(receipt, shown) && !areDisputed(receipt.facts, shown.facts));
}

function areDisputed(one: Receipt['facts'], other: Receipt['facts']): boolean {
  if (one === null || other === null) return false;
  return (
    isDisputed(one.gasUsed, other.gasUsed) || isDisputed(one.feePaid, other.feePaid) || isDisputed(one.returnValueXdr, other.returnValueXdr)
  );
}

/** A fact that one of them lacks is not disputed. */
function isDisputed<T extends bigint | string>(one: T | null, other: T | null): boolean {
  return one !== null && other !== null && one !== other;
}
