import { nullIfUnavailable } from '../../core/errors/unavailable.js';
import type { DurationClock } from '../../core/work/clock.js';
import type { Log } from '../../core/work/log.js';
import { remember } from '../../core/work/remember.js';
import { createDenials } from '../rpc/denials.js';
import { recentMs } from '../rpc/lag-tracker.js';
import type { Rpc } from '../rpc/rpc.js';
import { createPaidFees, type Landed } from './paid-fees.js';
import type { Positions } from './positions.js';
import { questions, type SignatureStatus, type Statuses } from './questions.js';

/** An attempt that one endpoint calls final. */
export interface Final extends Landed {
  readonly status: SignatureStatus;
}

/** What was read, and how. */
export interface FinalReading {
  readonly final: readonly Final[];
  /** The endpoint searched its history. */
  readonly withHistory: boolean;
  readonly answeredBy: ReadonlySet<number>;
}

/** A result that counts as final, and the fee that it cost. */
export interface FinalResult {
  readonly status: SignatureStatus;
  readonly feePaid: bigint;
}

/** Reads final results again, so that no record rests on the word of one endpoint. */
export interface FinalResults {
  /**
   * Returns results that two endpoints show as final, by signature. `disputed`: another endpoint shows another one, or does not show it as
   * final, or at all, although it is past its block or has followed the chain below it for a minute, and no third one decides. An endpoint
   * whose own blocks contradict what it shows is refuted: the result of the other one counts if the blocks of both hold it. Left out: no
   * other endpoint has a word yet. While that lasts, or another one lags, a result counts after a minute. Throws nothing because of a node.
   */
  confirm(reading: FinalReading): Promise<ReadonlyMap<string, FinalResult | 'disputed'>>;
}

const unconfirmedForMs = 60_000;
/** A node that is this far past a block shows it as final; blocks are usually final after 32 slots. */
export const slotsUntilFinal = 64n;
/** Without a search of its history a node knows the results of at least the newest 150 slots. */
const slotsWithoutHistory = 150n;
/** What an endpoint has called final counts for as long as this, also while it does not answer. */
const heardForMs = 600_000;
const maxHeard = 20_000;
/** A contradiction lasts for many heads. */
const quietForMs = 60_000;

/** Of the disputed results, this many are decided again per head: they may stay so for ever. */
const decidedPerHead = 4;
const maxDisputed = 10_000;

/** What the endpoint at this place shows of an attempt; null: nothing. */
interface Word {
  readonly status: SignatureStatus | null;
  /** It follows the chain and has not reached the block: one that jumps ahead makes it seem to lag. */
  readonly isBelow?: true;
  readonly by: number;
}

/** The parts of a reader of final results. */
export interface FinalResultsDeps {
  readonly rpc: Rpc;
  readonly positions: Positions;
  readonly clock: DurationClock;
  readonly log: Log;
  readonly networkName: string;
}

/** Creates a reader of final results. */
export function createFinalResults({ rpc, positions, clock, log, networkName }: FinalResultsDeps): FinalResults {
  const fees = createPaidFees(rpc, log, networkName);
  const unconfirmed = createDenials(clock, unconfirmedForMs);
  const unreached = createDenials(clock, unconfirmedForMs);
  let quietUntilMs = Number.NEGATIVE_INFINITY;
  /** The order in which disputed results were decided last, by signature. */
  const turns = new Map<string, number>();
  let turn = 0;
  const heard = createHeard(clock);
  const turnOf = ({ attempt }: Final): number => turns.get(attempt.hash) ?? 0;

  function warn(signature: string, status: SignatureStatus, second: SignatureStatus | null): void {
    if (clock.elapsedMs() < quietUntilMs) return;
    quietUntilMs = clock.elapsedMs() + quietForMs;
    const facts = { network: networkName, signature, slots: [status.slot.toString(), second?.slot.toString() ?? null] };
    log.warn(facts, 'RPC nodes show different results of a transaction; it is not final until they agree');
  }

  /** Asks other endpoints; null if none answers. */
  async function askOthers(final: readonly Final[], withHistory: boolean, asked: ReadonlySet<number>) {
    const answeredBy = new Set<number>();
    const call = questions.statuses(
      final.map(({ attempt }) => attempt.hash),
      withHistory,
      rpc.newestNumber(),
    );
    const shown = await rpc.ask(call, { first: { otherThan: asked }, answeredBy }).catch(nullIfUnavailable);
    const [by] = answeredBy;
    return shown === null || by === undefined ? null : { ...shown, by };
  }

  /** True if the block of this endpoint at this slot, its newest one, is recent. */
  async function isFollowing(by: number, slot: bigint): Promise<boolean> {
    const timeMs = await rpc.call(questions.blockTime(slot), { first: { only: by } }).catch(() => null);
    return timeMs !== null && clock.nowMs() - timeMs <= recentMs;
  }

  /** Returns what another endpoint says, by signature. Left out: what it cannot know yet, or knows no more. */
  async function wordsOn({ final, withHistory, answeredBy }: FinalReading): Promise<ReadonlyMap<string, Word>> {
    const words = new Map<string, Word>();
    const second = await askOthers(final, withHistory, answeredBy);
    if (second === null) return words;
    const take = (one: Final, { slot, value, by }: Statuses & { readonly by: number }, at: number, slotsKept: bigint | null): void => {
      const status = value[at] ?? null;
      const isBehind = slot < one.slot || (slotsKept !== null && slot > one.slot + slotsKept);
      const isYetToEnd = status?.isFinal === false && isSame(status, one.status) && slot < one.slot + slotsUntilFinal;
      if (status === null ? !isBehind : !isYetToEnd) words.set(one.attempt.hash, { status, by });
    };
    const unseen = withHistory ? [] : final.filter(({ slot }, at) => second.value[at] === null && second.slot >= slot);
    const searched = unseen.length === 0 ? null : await askOthers(unseen, true, answeredBy);
    for (const [at, one] of final.entries()) {
      take(one, second, at, withHistory ? null : slotsWithoutHistory);
      const place = unseen.indexOf(one);
      if (searched !== null && place !== -1) take(one, searched, place, null);
    }
    const lacking = final.filter(({ attempt, slot }) => !words.has(attempt.hash) && second.slot < slot);
    if (lacking.length > 0 && (await isFollowing(second.by, second.slot)))
      for (const { attempt } of lacking) words.set(attempt.hash, { status: null, by: second.by, isBelow: true });
    return words;
  }

  /** True if the endpoint at this place shows the attempt in its block at this slot; null: it shows no block there. */
  async function isInBlock(by: number, signature: string, slot: bigint): Promise<boolean | null> {
    const block = await rpc.call(questions.blockSignatures(slot), { first: { only: by } }).catch(() => null);
    return block === null ? null : block.contains(signature);
  }

  /** True if the endpoint shows the transaction with this result where it is asked for it by itself, and its final block holds it there. */
  async function showsOtherwise(by: number, signature: string, status: SignatureStatus): Promise<boolean> {
    const [shown, isHeld] = await Promise.all([
      rpc.call(questions.transaction(signature), { first: { only: by } }).catch(() => null),
      isInBlock(by, signature, status.slot),
    ]);
    return shown !== null && shown.slot === status.slot && isAlike(shown, status) && isHeld === true;
  }

  /** True if the endpoint of `wrong` contradicts itself about the attempt, and the blocks of both hold it where `right` says. */
  async function isRefuted(signature: string, wrong: Word, right: Word): Promise<boolean> {
    if (right.status?.isFinal !== true) return false;
    if (wrong.status === null) return showsOtherwise(wrong.by, signature, right.status);
    if (!isAlike(wrong.status, right.status)) return false;
    const [own, other, others] = await Promise.all([
      isInBlock(wrong.by, signature, wrong.status.slot),
      isInBlock(wrong.by, signature, right.status.slot),
      isInBlock(right.by, signature, right.status.slot),
    ]);
    return own !== true && other === true && others === true;
  }

  /** Decides between what two endpoints show: a third one does, or the blocks of the two. Null: nothing does. */
  async function decide(one: Final, first: Word, second: Word): Promise<SignatureStatus | null> {
    const { hash } = one.attempt;
    const third = (await wordsOn({ final: [one], withHistory: true, answeredBy: new Set([first.by, second.by]) })).get(hash)?.status;
    for (const { status } of [first, second])
      if (status?.isFinal === true && third?.isFinal === true && isSame(status, third)) return status;
    if (await isRefuted(hash, second, first)) return first.status;
    return (await isRefuted(hash, first, second)) ? second.status : null;
  }

  /** Returns the status that counts; null: none does yet. */
  function judge(signature: string, status: SignatureStatus, word: Word | undefined): SignatureStatus | 'disputed' | null {
    if (word === undefined) return unconfirmed.isLong(signature) ? status : null;
    unconfirmed.forget(signature);
    if (word.isBelow === true) return unreached.isLong(signature) ? 'disputed' : null;
    unreached.forget(signature);
    return word.status?.isFinal === true && isSame(word.status, status) ? status : 'disputed';
  }

  return {
    async confirm(reading) {
      const head = await positions.confirmed().catch(nullIfUnavailable);
      // Other nodes cannot deny what is in a block that none of them has yet.
      const final = reading.final.filter(({ slot }) => head !== null && slot <= head.slot);
      if (final.length === 0) return new Map();
      const [by] = reading.answeredBy;
      const words = new Map(await wordsOn({ ...reading, final }));
      for (const { attempt, status } of final) {
        const before = by === undefined ? undefined : heard.take(attempt.hash, status, by);
        if (before !== undefined && !words.has(attempt.hash)) words.set(attempt.hash, before);
      }
      const judged = new Map(final.map((one) => [one, judge(one.attempt.hash, one.status, words.get(one.attempt.hash))]));
      const contested = final.filter((one) => judged.get(one) === 'disputed');
      for (const one of contested.toSorted((a, b) => turnOf(a) - turnOf(b)).slice(0, decidedPerHead)) {
        const { hash } = one.attempt;
        const second = words.get(hash);
        const decided = by === undefined || second === undefined ? null : await decide(one, { status: one.status, by }, second);
        if (decided !== null) judged.set(one, decided);
        else {
          turn += 1;
          remember(turns, hash, turn, maxDisputed);
          warn(hash, one.status, second?.status ?? null);
        }
      }
      const confirmed = [...judged].flatMap(([one, status]) =>
        status === null || status === 'disputed' ? [] : [{ attempt: one.attempt, slot: status.slot, status }],
      );
      const paid = await fees.of(confirmed);
      const results = new Map<string, FinalResult | 'disputed'>(
        confirmed.map(({ attempt: { hash, fields }, status }) => [hash, { status, feePaid: paid.get(hash) ?? fields.feeLamports }]),
      );
      for (const [{ attempt }, status] of judged) if (status === 'disputed') results.set(attempt.hash, status);
      return results;
    },
  };
}

/** What endpoints have called final lately. One that is silent now stands by it, so that another one does not decide alone. */
function createHeard(clock: DurationClock) {
  /** By signature and endpoint, newest last. */
  const heard = new Map<string, ReadonlyMap<number, { readonly status: SignatureStatus; readonly atMs: number }>>();
  return {
    /** Takes note of what an endpoint calls final. Returns what another one has called final lately. */
    take(signature: string, status: SignatureStatus, by: number): Word | undefined {
      const nowMs = clock.elapsedMs();
      const known = [...(heard.get(signature) ?? [])].filter(([, { atMs }]) => nowMs - atMs < heardForMs);
      remember(heard, signature, new Map([...known, [by, { status, atMs: nowMs }]]), maxHeard);
      const other = known.findLast(([one]) => one !== by);
      return other === undefined ? undefined : { status: other[1].status, by: other[0] };
    },
  };
}

function isSame(one: SignatureStatus, other: SignatureStatus): boolean {
  return one.slot === other.slot && isAlike(one, other);
}

function isAlike(one: Pick<SignatureStatus, 'error'>, other: Pick<SignatureStatus, 'error'>): boolean {
  return (one.error === null) === (other.error === null);
}
