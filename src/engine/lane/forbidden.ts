import type { LaneContext } from './lane-context.js';
import type { Tracked } from './tracked.js';

/** Maximum number of batches of forbidden transactions that are tried again at one head while all of them are forbidden again. */
const maxBatches = 2;
/**
 * A transaction that the balance or the price cap forbids is not drafted again at the same head, unless no new head comes for this long.
 */
const forbiddenForMs = 3_000;

/**
 * The transactions that the balance or the price cap forbids. Thousands may share one obstacle, which the lane must not draft in vain. At
 * each head it tries the oldest that were forbidden before, then the next after the last head's. It tries the others only if one of these
 * can be sent.
 */
export interface Forbidden {
  /** Balance or cap forbid it at the settled head. */
  note(record: Tracked): void;
  /** Returns the check whether a transaction is not tried now, since it was forbidden. */
  skipNow(): (record: Tracked) => boolean;
  /** A round has ended. `again`: the transactions that were forbidden before, and that it tried. `isProgress`: something can be sent. */
  endRound(again: readonly Tracked[], isProgress: boolean): void;
}

/** Creates the memory of a lane in which nothing was forbidden. */
export function createForbidden({ heads, deps }: Pick<LaneContext, 'heads' | 'deps'>): Forbidden {
  /** The batches that are forbidden again at this head, and where the next one begins. */
  let known = { atHash: '', untilMs: 0, batches: 0, after: '' };

  /** How much of the queue was forbidden again at this head. */
  function now(): typeof known {
    const elapsedMs = deps.clock.elapsedMs();
    if (known.atHash === heads.settled?.hash && elapsedMs < known.untilMs) return known;
    return { ...known, atHash: heads.settled?.hash ?? '', untilMs: elapsedMs + forbiddenForMs, batches: 0 };
  }

  return {
    note(record) {
      if (heads.settled !== null) record.forbidden = { atHash: heads.settled.hash, untilMs: deps.clock.elapsedMs() + forbiddenForMs };
    },
    skipNow() {
      const { batches, after } = now();
      const elapsedMs = deps.clock.elapsedMs();
      return ({ transaction, forbidden, drafting }) => {
        if (forbidden === null) return false;
        if (forbidden.atHash === heads.settled?.hash && elapsedMs < forbidden.untilMs) return true;
        return drafting === null && (batches >= maxBatches || (batches > 0 && transaction.id <= after));
      };
    },
    endRound(again, isProgress) {
      const current = now();
      const last = again.at(-1)?.transaction.id ?? '';
      if (isProgress) known = { ...current, batches: 0, after: '' };
      else if (again.some(({ forbidden }) => forbidden?.atHash === current.atHash))
        known = { ...current, batches: current.batches + 1, after: current.batches === 0 && current.after > last ? current.after : last };
    },
  };
}
