import { remember } from '../core/work/remember.js';

/** The number of events of one notification posted at once, if its receiver answers. */
const maxPerNotification = 8;
/** The number of events posted at once. */
export const maxPosts = 1024;
/** The number of slots that receivers without a recent answer can have together, so that the others always have slots. */
const maxUnanswered = maxPosts / 2;
/** The number of receivers with several slots that are remembered. A receiver that is forgotten begins with one slot again. */
export const maxRemembered = 4 * maxPosts;

/** Something that has attempts running and waiting. */
export interface Runner {
  readonly notificationId: string;
  /** The number of its running attempts. */
  running: number;
}

/**
 * Divides the slots for running attempts among the notifications. A receiver begins with one slot, gets twice as many with each answer, and
 * half as many with each attempt without an answer. So each receiver that hangs holds one slot.
 */
export interface DeliverySlots {
  hasFree(runner: Runner): boolean;
  /** True if the receiver has answered lately. */
  isAnswering(notificationId: string): boolean;
  take(runner: Runner): void;
  free(runner: Runner): void;
  /** Records how an attempt ended. */
  noteEnd(runner: Runner, isAnswered: boolean): void;
}

/** Creates the slots, all of them free. */
export function createDeliverySlots(): DeliverySlots {
  /** The receivers with more than one slot; the one whose last attempt ended last comes last. */
  const limits = new Map<string, number>();
  /** The attempts that run for receivers with one slot. */
  let unanswered = 0;
  let total = 0;
  const countsAs = new WeakMap<Runner, number>();
  const limitOf = ({ notificationId }: Runner) => limits.get(notificationId) ?? 1;

  return {
    isAnswering: (notificationId) => limits.has(notificationId),
    hasFree(runner) {
      const limit = limitOf(runner);
      return runner.running < limit && total < maxPosts && (limit > 1 || unanswered < maxUnanswered);
    },
    take(runner) {
      runner.running += 1;
      total += 1;
      if (limitOf(runner) === 1) {
        unanswered += 1;
        countsAs.set(runner, (countsAs.get(runner) ?? 0) + 1);
      }
    },
    free(runner) {
      runner.running -= 1;
      total -= 1;
      const counted = countsAs.get(runner) ?? 0;
      if (counted === 0) return;
      unanswered -= 1;
      countsAs.set(runner, counted - 1);
    },
    noteEnd(runner, isAnswered) {
      const { notificationId } = runner;
      const before = limitOf(runner);
      const limit = isAnswered ? Math.min(maxPerNotification, before * 2) : Math.floor(before / 2);
      if (limit > 1) remember(limits, notificationId, limit, maxRemembered);
      else limits.delete(notificationId);
    },
  };
}
