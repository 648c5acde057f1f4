import type { AttemptOutcome } from '../../core/ports/chain/outcomes.js';
import type { DurationClock } from '../../core/work/clock.js';
import { remember } from '../../core/work/remember.js';
import { createDenials } from '../rpc/denials.js';
import type { Rpc } from '../rpc/rpc.js';
import type { SolanaAttempt } from './absence.js';
import { type Final, type FinalReading, type FinalResults, slotsUntilFinal } from './final-results.js';
import { maxStatuses, questions, type SignatureStatus, type Statuses } from './questions.js';

/** What endpoints show of attempts in blocks. */
export interface ShownOutcomes {
  /** Takes in what an endpoint shows. What it calls final is read again at another one. */
  take(
    attempts: readonly SolanaAttempt[],
    statuses: Statuses,
    reading: Pick<FinalReading, 'withHistory' | 'answeredBy'>,
    outcomes: Map<string, AttemptOutcome>,
  ): Promise<void>;
  /**
   * Asks another endpoint than the head's about attempts that the head's does not show, or not as final, for long: it may never show what
   * is in its own blocks. Throws `NODE_UNAVAILABLE`.
   */
  askLate(attempts: readonly SolanaAttempt[], outcomes: Map<string, AttemptOutcome>): Promise<void>;
  /** True if an endpoint has called the attempt with this signature final. */
  wasFinal(hash: string): boolean;
}

type Landed = Extract<AttemptOutcome, { readonly kind: 'landed' }>;

/** A transaction is usually in a block within seconds, and final 32 slots later. After these times another endpoint is asked as well. */
const unseenForMs = 15_000;
const unendedForMs = 30_000;
/** One that is forgotten can be proved dead by one endpoint, twice. */
const maxFinal = 10_000;

/** The parts of a reader of what is shown. */
interface ShownOutcomesDeps {
  readonly rpc: Rpc;
  readonly results: FinalResults;
  readonly clock: DurationClock;
  /** An endpoint shows the attempt with this signature in a block. */
  onShown(hash: string): void;
}

/** Creates a reader of what is shown. */
export function createShownOutcomes({ rpc, results, clock, onShown }: ShownOutcomesDeps): ShownOutcomes {
  const unseen = createDenials(clock, unseenForMs);
  const unended = createDenials(clock, unendedForMs);
  /** The signatures that an endpoint has called final. */
  const final = new Map<string, true>();

  const isLong = (hash: string, outcome: AttemptOutcome | undefined): outcome is Landed =>
    outcome?.kind === 'landed' && !outcome.isFinal && outcome.isDisputed !== true && unended.isLong(hash);

  const take: ShownOutcomes['take'] = async (attempts, { value }, reading, outcomes) => {
    const shownFinal: Final[] = [];
    for (const [at, attempt] of attempts.entries()) {
      const status = value[at] ?? null;
      if (status === null) continue;
      onShown(attempt.hash);
      outcomes.set(attempt.hash, landed(attempt, status, null));
      if (!status.isFinal) continue;
      remember(final, attempt.hash, true, maxFinal);
      shownFinal.push({ attempt, slot: status.slot, status });
    }
    if (shownFinal.length === 0) return;
    const confirmed = await results.confirm({ final: shownFinal, ...reading });
    for (const { attempt, status } of shownFinal) {
      const result = confirmed.get(attempt.hash);
      if (result === 'disputed') outcomes.set(attempt.hash, { ...landed(attempt, status, null), isDisputed: true });
      else if (result !== undefined) outcomes.set(attempt.hash, landed(attempt, result.status, result.feePaid));
    }
  };

  /** `withHistory`: the block may be too old for a search without it. */
  async function askAnother(
    attempts: readonly SolanaAttempt[],
    withHistory: boolean,
    outcomes: Map<string, AttemptOutcome>,
  ): Promise<void> {
    for (const some of chunksOf(attempts)) {
      const answeredBy = new Set<number>();
      const call = questions.statuses(signaturesOf(some), withHistory, rpc.newestNumber());
      const statuses = await rpc.ask(call, { first: 'another', answeredBy });
      await take(some, statuses, { withHistory, answeredBy }, outcomes);
      for (const [at, { hash }] of some.entries()) {
        const outcome = outcomes.get(hash);
        if (outcome?.kind !== 'landed' || outcome.isFinal) continue;
        // What only one of the two shows, and never as final, may not be there.
        const isDenied = withHistory && statuses.value[at] === null && statuses.slot >= outcome.receipt.blockNumber + slotsUntilFinal;
        if (isDenied || (!withHistory && isLong(hash, outcome))) outcomes.set(hash, { ...outcome, isDisputed: true });
      }
    }
  }

  return {
    take,
    wasFinal: (hash) => final.has(hash),
    async askLate(attempts, outcomes) {
      if (rpc.isSingle()) return;
      const unshown: SolanaAttempt[] = [];
      const unfinished: SolanaAttempt[] = [];
      for (const attempt of attempts) {
        const outcome = outcomes.get(attempt.hash);
        if (outcome?.kind === 'open' && unseen.isLong(attempt.hash)) unshown.push(attempt);
        if (isLong(attempt.hash, outcome)) unfinished.push(attempt);
      }
      await askAnother(unshown, false, outcomes);
      await askAnother(unfinished, true, outcomes);
    },
  };
}

/** An attempt in a block. `feePaid`: as its block shows it; null: it is not final, and the message implies its fee. */
function landed({ hash, fields }: SolanaAttempt, { slot, error }: SignatureStatus, feePaid: bigint | null): Landed {
  const isFinal = feePaid !== null;
  const facts = { gasUsed: null, feePaid: feePaid ?? fields.feeLamports, returnValueXdr: null };
  // A status does not name its block, so the slot replaces the hash.
  return {
    kind: 'landed',
    isFinal,
    receipt: { hash, blockNumber: slot, blockHash: slot.toString(), succeeded: error === null, facts },
  };
}

/** Returns their signatures, in order. */
export function signaturesOf(attempts: readonly SolanaAttempt[]): readonly string[] {
  return attempts.map(({ hash }) => hash);
}

/** Splits attempts into the number of statuses that a node returns per call. */
export function chunksOf(attempts: readonly SolanaAttempt[]): readonly (readonly SolanaAttempt[])[] {
  const size = maxStatuses;
  return Array.from({ length: Math.ceil(attempts.length / size) }, (_, at) => attempts.slice(at * size, (at + 1) * size));
}
