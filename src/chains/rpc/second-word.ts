import { isUnavailable } from '../../core/errors/unavailable.js';
import type { CallOptions } from './call-router.js';
import type { Rpc } from './rpc.js';

/** Returns how many endpoints are in use. Calls no node. */
export function inUse(rpc: Pick<Rpc, 'endpoints'>): number {
  return rpc.endpoints().filter(({ state }) => state === 'in_use').length;
}

/** An answer, and whether another endpoint could have confirmed it but none answered. */
export interface Word<T> {
  readonly answer: T;
  readonly isDoubted: boolean;
}

/**
 * Asks the endpoint of the head. If its answer ends a transaction, the answer of another endpoint decides; a network with one endpoint asks
 * that one again. If the two differ and a third one is in use, that one decides. If no other endpoint answers, the first answer is doubted.
 * Throws `NODE_UNAVAILABLE` if none answers the first time.
 */
export async function withSecondWord<T>(
  rpc: Pick<Rpc, 'endpoints'>,
  ask: (options: CallOptions) => Promise<T>,
  isDecisive: (answer: T) => boolean,
): Promise<Word<T>> {
  const answeredBy = new Set<number>();
  const answer = await ask({ first: 'head', answeredBy });
  if (!isDecisive(answer)) return { answer, isDoubted: false };
  const byOther = new Set<number>();
  const [second] = await wordOf(ask, { first: { otherThan: answeredBy }, answeredBy: byOther });
  if (second === undefined) return { answer, isDoubted: true };
  const both = new Set([...answeredBy, ...byOther]);
  const [third = second] = isDecisive(second) || inUse(rpc) <= both.size ? [] : await wordOf(ask, { first: { otherThan: both } });
  return { answer: third, isDoubted: false };
}

/** What two endpoints say. */
export interface TwoWords<T> {
  readonly first: T;
  /** What another endpoint says; empty: none that is in use answers. */
  readonly second: readonly T[];
  /** Asks one more endpoint, also one that is not in use; a network with one endpoint asks that one again. Empty: none answers. */
  more(): Promise<readonly T[]>;
  /** Asks one more endpoint if one more is in use. Empty: none is, or it does not answer. */
  third(): Promise<readonly T[]>;
}

/**
 * Asks the endpoint of the head, and another one at the same time if one is in use: no transaction waits for an endpoint that is down.
 * Throws `NODE_UNAVAILABLE` if neither answers.
 */
export async function askTwo<T>(rpc: Pick<Rpc, 'endpoints'>, ask: (options: CallOptions) => Promise<T>): Promise<TwoWords<T>> {
  const count = inUse(rpc);
  const [byHead, byOther] = [new Set<number>(), new Set<number>()];
  const asked = ask({ first: 'head', answeredBy: byHead });
  const [atHead, other] = await Promise.all([
    asked.then(one, noneIfUnavailable),
    count > 1 ? wordOf(ask, { first: 'another', answeredBy: byOther }) : [],
  ]);
  const words = [...atHead, ...other];
  const answeredBy = new Set([...byHead, ...byOther]);
  // The endpoint of the head may fail, and the other one answer both.
  const [first = await asked, ...second] = words.length > answeredBy.size ? atHead : words;
  const more = () => wordOf(ask, { first: { otherThan: answeredBy } });
  return { first, second, more, third: async () => (count > answeredBy.size ? more() : []) };
}

function wordOf<T>(ask: (options: CallOptions) => Promise<T>, options: CallOptions): Promise<readonly T[]> {
  return ask(options).then(one, noneIfUnavailable);
}

function one<T>(answer: T): readonly T[] {
  return [answer];
}

function noneIfUnavailable(error: unknown): readonly [] {
  if (!isUnavailable(error)) throw error;
  return [];
}
