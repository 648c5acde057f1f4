import type { AttemptOutcome } from '../../core/ports/chain/outcomes.js';
import type { DurationClock } from '../../core/work/clock.js';
import { createDenials } from '../rpc/denials.js';
import type { Rpc } from '../rpc/rpc.js';
import type { SolanaAttempt } from './absence.js';
import type { Final, FinalReading, FinalResults } from './final-results.js';
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
}

type Landed = Extract<AttemptOutcome, { readonly kind: 'landed' }>;

/** A transaction is usually in a block within seconds, and final 32 slots later. After these times another endpoint is asked as well. */
const unseenForMs = 15_000;
const unendedForMs = 30_000;

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

  const take: ShownOutcomes['take'] = async (attempts, { value }, reading, outcomes) => {
    const final: Final[] = [];
    for (const [at, attempt] of attempts.entries()) {
      const status = value[at] ?? null;
      if (status === null) continue;
      onShown(attempt.hash);
      outcomes.set(attempt.hash, landed(attempt, status, null));
      if (status.isFinal) final.push({ attempt, slot: status.slot, status });
    }
    if (final.length === 0) return;
    const confirmed = await results.confirm({ final, ...reading });
    for (const { attempt, status } of final) {
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
      await take(some, await rpc.ask(call, { first: 'another', answeredBy }), { withHistory, answeredBy }, outcomes);
    }
  }

  return {
    take,
    async askLate(attempts, outcomes) {
      if (rpc.isSingle()) return;
      const unshown: SolanaAttempt[] = [];
      const unfinished: SolanaAttempt[] = [];
      for (const attempt of attempts) {
        const outcome = outcomes.get(attempt.hash);
        if (outcome?.kind !== 'landed') {
          if (unseen.isLong(attempt.hash)) unshown.push(attempt);
        } else if (!outcome.isFinal && outcome.isDisputed !== true && unended.isLong(attempt.hash)) unfinished.push(attempt);
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
