import type { ContentSpends, Reservation, ReservedSpend } from '../ports/store/spending.js';

/*
 * What a transaction has reserved. Until it has ended, any of its attempts may be paid, so each window holds the maximum of what its
 * contents spend there. When one of its attempts has been confirmed, the amounts of that content count alone.
 */

/** How many contents are kept: of earlier ones, all that is held counts as spent. */
const maxContents = 16;

/** Returns what a new transaction reserves. */
export function firstReservation(spends: readonly ReservedSpend[]): Reservation {
  return { held: spends.map(whole), contents: [{ fromVersion: 1, spends }] };
}

/** What a window holds is held as a whole: which content it is for is not known there. */
function whole({ window, amount }: ReservedSpend): ReservedSpend {
  return { window, amount };
}

/** Returns what each window must hold more for new content. */
export function beyondHeld<Spend extends ReservedSpend>(before: Reservation | undefined, spends: readonly Spend[]): readonly Spend[] {
  return spends.flatMap((spend) => {
    const held = heldIn(before?.held ?? [], spend.window);
    return spend.amount > held ? [{ ...spend, amount: spend.amount - held }] : [];
  });
}

/**
 * Returns the reservation of a transaction that gets new content, and holds more for it. `fromVersion`: the first attempt that may have the
 * content. Earlier content without an attempt is never paid.
 */
export function withContent(before: Reservation | undefined, next: ContentSpends, more: readonly ReservedSpend[]): Reservation {
  const { held = [], contents = [] } = before ?? {};
  const signed = contents.filter(({ fromVersion }) => fromVersion < next.fromVersion);
  // What was not counted before has reserved nothing.
  const earlier = before === undefined && next.fromVersion > 1 ? [{ fromVersion: 1, spends: [] }] : signed;
  return { held: [...held, ...more.map(whole)], contents: [...earlier, next].slice(-maxContents) };
}

/** Returns what the content of an attempt spends; null: that is not known. */
export function spendsOf({ contents }: Reservation, version: number | null): readonly ReservedSpend[] | null {
  return contents.findLast(({ fromVersion }) => version !== null && fromVersion <= version)?.spends ?? null;
}

/** Returns how much is held in a window. */
export function heldIn(spends: readonly ReservedSpend[], window: string): bigint {
  return spends.reduce((sum, one) => (one.window === window ? sum + one.amount : sum), 0n);
}
