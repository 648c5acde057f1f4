import { nullIfUnavailable } from '../../core/errors/unavailable.js';
import type { DurationClock } from '../../core/work/clock.js';
import type { Log } from '../../core/work/log.js';
import { createDenials } from '../rpc/denials.js';
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

/** Reads final results again, so that no record rests on the word of one endpoint. */
export interface FinalResults {
  /**
   * Returns the paid fees by signature of results that another endpoint shows with the same result in the same block as final. While no
   * other one answers, or only one that lags, they count after a minute. What another one contradicts never does: it shows another result,
   * or does not show this one as final, or at all, although it is past its block. Throws nothing because of a node.
   */
  confirm(reading: FinalReading): Promise<ReadonlyMap<string, bigint>>;
}

const unconfirmedForMs = 60_000;
/** A node that is this far past a block shows it as final; blocks are usually final after 32 slots. */
const slotsUntilFinal = 64n;
/** Without a search of its history a node knows the results of at least the newest 150 slots. */
const slotsWithoutHistory = 150n;
/** A contradiction lasts for many heads. */
const quietForMs = 60_000;

/** What another endpoint shows of an attempt. */
interface Word {
  readonly status: SignatureStatus | null;
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
  let quietUntilMs = Number.NEGATIVE_INFINITY;

  function warn(signature: string, status: SignatureStatus, second: SignatureStatus | null): void {
    if (clock.elapsedMs() < quietUntilMs) return;
    quietUntilMs = clock.elapsedMs() + quietForMs;
    const facts = { network: networkName, signature, slots: [status.slot.toString(), second?.slot.toString() ?? null] };
    log.warn(facts, 'RPC nodes show different results of a transaction; it is not final until they agree');
  }

  function isConfirmed(signature: string, status: SignatureStatus, word: Word | undefined): boolean {
    if (word === undefined) return unconfirmed.isLong(signature);
    unconfirmed.forget(signature);
    if (word.status?.isFinal === true && isSame(word.status, status)) return true;
    warn(signature, status, word.status);
    return false;
  }

  /** Asks other endpoints; null if none answers. */
  async function askOthers(final: readonly Final[], withHistory: boolean, answeredBy: ReadonlySet<number>): Promise<Statuses | null> {
    const signatures = final.map(({ attempt }) => attempt.hash);
    return rpc.ask(questions.statuses(signatures, withHistory), { first: { otherThan: answeredBy } }).catch(nullIfUnavailable);
  }

  /** Returns what another endpoint says, by signature. Left out: what it cannot know yet, or knows no more. */
  async function wordsOn({ final, withHistory, answeredBy }: FinalReading): Promise<ReadonlyMap<string, Word>> {
    const words = new Map<string, Word>();
    const second = await askOthers(final, withHistory, answeredBy);
    if (second === null) return words;
    const take = (one: Final, { slot, value }: Statuses, at: number, slotsKept: bigint | null): void => {
      const status = value[at] ?? null;
      const isBehind = slot < one.slot || (slotsKept !== null && slot > one.slot + slotsKept);
      const isYetToEnd = status?.isFinal === false && isSame(status, one.status) && slot < one.slot + slotsUntilFinal;
      if (status === null ? !isBehind : !isYetToEnd) words.set(one.attempt.hash, { status });
    };
    const unseen = withHistory ? [] : final.filter(({ slot }, at) => second.value[at] === null && second.slot >= slot);
    const searched = unseen.length === 0 ? null : await askOthers(unseen, true, answeredBy);
    for (const [at, one] of final.entries()) {
      take(one, second, at, withHistory ? null : slotsWithoutHistory);
      const place = unseen.indexOf(one);
      if (searched !== null && place !== -1) take(one, searched, place, null);
    }
    return words;
  }

  return {
    async confirm(reading) {
      const head = await positions.confirmed().catch(nullIfUnavailable);
      // Other nodes cannot deny what is in a block that none of them has yet.
      const final = reading.final.filter(({ slot }) => head !== null && slot <= head.slot);
      if (final.length === 0) return new Map();
      const words = await wordsOn({ ...reading, final });
      const confirmed = final.filter(({ attempt, status }) => isConfirmed(attempt.hash, status, words.get(attempt.hash)));
      const paid = await fees.of(confirmed);
      return new Map(confirmed.map(({ attempt: { hash, fields } }) => [hash, paid.get(hash) ?? fields.feeLamports]));
    },
  };
}

function isSame(one: SignatureStatus, other: SignatureStatus): boolean {
  return one.slot === other.slot && (one.error === null) === (other.error === null);
}
