import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { rest } from './callers.js';
import type { Instances } from './instances.js';

/** What an instance answered. */
export interface FinalAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly body: any;
}

/** A call that any instance may answer. */
export interface AnyCall {
  readonly verb: string;
  readonly path: string;
  readonly body?: object;
  /** After this time without an answer the next instance is called. Default: 3 s. */
  readonly patienceMs?: number;
}

/** Calls an instance until one answers for good: first the one with this index, then those after it, all with one idempotency key. */
export async function untilAnswered(
  { all }: Pick<Instances, 'all'>,
  index: number,
  { verb, path, body, patienceMs = 3_000 }: AnyCall,
): Promise<FinalAnswer> {
  const headers = { 'idempotency-key': randomUUID() };
  for (let turn = index; ; turn += 1) {
    const instance = all[turn % all.length];
    if (instance === undefined) throw new Error('there are no instances');
    // An instance that is stopped answers nothing.
    const late = delay(patienceMs, null, { ref: false });
    const answer: FinalAnswer | null = await Promise.race([rest(instance.baseUrl, verb, path, body, headers).catch(() => null), late]);
    // The key of a call that goes on at another instance, or whose outcome is not known, answers 409 for a time.
    const goesOn = answer === null || answer.status >= 500 || (answer.status === 409 && /idempotency/i.test(answer.text));
    if (!goesOn) return answer;
    // Calls that go on must not be slowed by those who ask for them.
    await delay(Math.min(2_000, 100 * (turn - index + 1)));
  }
}
