import { DomainError } from '../../core/errors/errors.js';
import type { DurationClock } from '../../core/work/clock.js';
import type { Log } from '../../core/work/log.js';
import type { Rpc } from '../rpc/rpc.js';
import { createPaidFees, type Landed } from './paid-fees.js';
import { createPatience } from './patience.js';
import { questions, type SignatureStatus, type Statuses } from './questions.js';

/** An attempt that one endpoint calls final. */
export interface Final extends Landed {
  readonly status: SignatureStatus;
}

/** What was read, and how. */
export interface Reading {
  readonly final: readonly Final[];
  /** The endpoint searched its history. */
  readonly withHistory: boolean;
  readonly answeredBy: ReadonlySet<number>;
}

/** Reads final results again, so that no record rests on the word of one endpoint. */
export interface FinalResults {
  /**
   * Returns the paid fees by signature of those that another endpoint shows with the same result in the same block as final. What none
   * shows counts after a minute, also if no other one answers; results that differ never do. Throws nothing because of a node.
   */
  confirm(reading: Reading): Promise<ReadonlyMap<string, bigint>>;
}

const unconfirmedForMs = 60_000;
/** A contradiction lasts for many heads. */
const quietForMs = 60_000;

/** The parts of a reader of final results. */
export interface FinalResultsDeps {
  readonly rpc: Rpc;
  readonly clock: DurationClock;
  readonly log: Log;
  readonly networkName: string;
}

/** Creates a reader of final results. */
export function createFinalResults({ rpc, clock, log, networkName }: FinalResultsDeps): FinalResults {
  const fees = createPaidFees(rpc, log, networkName);
  const unconfirmed = createPatience(clock, unconfirmedForMs);
  let quietUntilMs = Number.NEGATIVE_INFINITY;

  function isConfirmed(signature: string, status: SignatureStatus, second: SignatureStatus | null): boolean {
    if (second?.isFinal !== true) return unconfirmed.isOver(signature);
    if (second.slot === status.slot && (second.error === null) === (status.error === null)) {
      unconfirmed.forget(signature);
      return true;
    }
    if (clock.elapsedMs() >= quietUntilMs) {
      quietUntilMs = clock.elapsedMs() + quietForMs;
      const facts = { network: networkName, signature, slots: [status.slot.toString(), second.slot.toString()] };
      log.warn(facts, 'RPC nodes show different results of a transaction; it is not final until they agree');
    }
    return false;
  }

  return {
    async confirm({ final, withHistory, answeredBy }) {
      const again = questions.statuses(
        final.map(({ attempt }) => attempt.hash),
        withHistory,
      );
      const second = await rpc.ask(again, { first: { otherThan: answeredBy } }).catch((error: unknown): Statuses | null => {
        if (error instanceof DomainError && error.reason === 'NODE_UNAVAILABLE') return null;
        throw error;
      });
      const confirmed = final.filter(({ attempt, status }, at) => isConfirmed(attempt.hash, status, second?.value[at] ?? null));
      const paid = await fees.of(confirmed);
      return new Map(confirmed.map(({ attempt: { hash, fields } }) => [hash, paid.get(hash) ?? fields.feeLamports]));
    },
  };
}
