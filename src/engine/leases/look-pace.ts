import type { Member } from '../../core/ports/shared-database.js';

/** An instance that was alone at its last look only has to notice that another one joins, which also tells it. */
const aloneMs = 1_000;
const oftenMs = 250;
/** What others change makes an instance look at once. This finds changes whose messages were lost. */
const seldomMs = 2_000;

/** The number of instances that look often: the cost of all looks must not grow with the instances. */
const lookingOften = 3;
/** An instance sends something every second. */
const quietForMs = 2_000;

/** What a look showed. */
export interface PaceFacts {
  /** The number of this instance. */
  readonly me: number;
  /** In the order of their numbers. */
  readonly members: readonly Member[];
  /** The database's time then. */
  readonly timeMs: number;
}

/** Returns how long an instance waits until it looks again. One that looks seldom looks often while another instance may be gone. */
export function lookPaceMs({ me, members, timeMs }: PaceFacts): number {
  if (members.length === 1) return aloneMs;
  const isFirst = members.slice(0, lookingOften).some(({ number }) => number === me);
  return isFirst || members.some((member) => mayBeGone(member, timeMs)) ? oftenMs : seldomMs;
}

function mayBeGone({ isConnected, isBusy, shown }: Member, timeMs: number): boolean {
  return !isConnected || (!isBusy && shown.seenAtMs !== null && timeMs - shown.seenAtMs > quietForMs);
}
