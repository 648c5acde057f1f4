import { isUnavailable } from '../../core/errors/unavailable.js';
import type { CallOptions } from './call-router.js';

/** An answer, and whether another endpoint could have confirmed it but none answered. */
export interface Word<T> {
  readonly answer: T;
  readonly isDoubted: boolean;
}

/**
 * Asks the endpoint of the head. If its answer ends a transaction, the answer of another endpoint decides; a network with one endpoint asks
 * that one again. If no other endpoint answers, the first answer is doubted. Throws `NODE_UNAVAILABLE` if none answers the first time.
 */
export async function withSecondWord<T>(ask: (options: CallOptions) => Promise<T>, isDecisive: (answer: T) => boolean): Promise<Word<T>> {
  const answeredBy = new Set<number>();
  const answer = await ask({ first: 'head', answeredBy });
  if (!isDecisive(answer)) return { answer, isDoubted: false };
  try {
    return { answer: await ask({ first: { otherThan: answeredBy } }), isDoubted: false };
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    return { answer, isDoubted: true };
  }
}
