/** The number of events of one notification posted at once, if its receiver answers. */
const maxPerNotification = 8;
/** The number of events posted at once. */
export const maxPosts = 1024;
/** The number of these that receivers without a recent answer can have together, so that the others always have places. */
const maxUnanswered = maxPosts / 2;

/** Something that has attempts running and waiting. */
export interface Runner {
  readonly notificationId: string;
  /** The number of its running attempts. */
  running: number;
}

/**
 * Divides the places for running attempts among the notifications: a receiver begins with one place, gets twice as many with each answer, and half as
 * many with each attempt that nothing answered. So receivers that hang hold one place each, however many they are.
 */
export interface Places {
  hasRoom(runner: Runner): boolean;
  /** True if the receiver has answered lately. */
  isAnswering(notificationId: string): boolean;
  taken(runner: Runner): void;
  freed(runner: Runner): void;
  /** Takes note of how an attempt ended. */
  noteEnd(runner: Runner, isAnswered: boolean): void;
}

/** Makes the places, all of them free. */
export function createPlaces(): Places {
  /** Kept for notifications without attempts, which are few. */
  const limits = new Map<string, number>();
  /** The attempts that run for receivers with one place. */
  let unanswered = 0;
  let total = 0;
  const countsAs = new WeakMap<Runner, number>();
  const limitOf = ({ notificationId }: Runner) => limits.get(notificationId) ?? 1;

  return {
    isAnswering: (notificationId) => (limits.get(notificationId) ?? 1) > 1,
    hasRoom(runner) {
      const limit = limitOf(runner);
      return runner.running < limit && total < maxPosts && (limit > 1 || unanswered < maxUnanswered);
    },
    taken(runner) {
      runner.running += 1;
      total += 1;
      if (limitOf(runner) === 1) {
        unanswered += 1;
        countsAs.set(runner, (countsAs.get(runner) ?? 0) + 1);
      }
    },
    freed(runner) {
      runner.running -= 1;
      total -= 1;
      const counted = countsAs.get(runner) ?? 0;
      if (counted === 0) return;
      unanswered -= 1;
      countsAs.set(runner, counted - 1);
    },
    noteEnd(runner, isAnswered) {
      const limit = limitOf(runner);
      limits.set(runner.notificationId, isAnswered ? Math.min(maxPerNotification, limit * 2) : Math.max(1, Math.floor(limit / 2)));
    },
  };
}
