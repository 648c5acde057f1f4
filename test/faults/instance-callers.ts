import { setTimeout as delay } from 'node:timers/promises';
import { rest } from '../support/callers.js';
import { waitFor } from '../support/wait-for.js';
import { otherReceiver, paymentOf } from './payment.js';
import type { FaultRun } from './suite.js';

const callers = 8;
/** A caller waits up to this long between two calls. */
const greatestGapMs = 250;
/** A caller that got no answer for this long calls another instance, and leaves the call where it is: a hung instance begins it when it goes on. */
const answerPatienceMs = 2_000;
/** Generous: how long it takes belongs to the figures. */
const acceptanceLimitMs = 90_000;
/** Replacements have a value from here on. */
const firstReplacement = 2_000_000_000;

type Answer = Awaited<ReturnType<typeof rest>>;

/** What the callers know. */
export interface Traffic {
  /** The ids of accepted payments and their relayers, by value. */
  readonly accepted: ReadonlyMap<string, { readonly id: string; readonly relayer: string }>;
  /** Accepted payments that a caller replaced or canceled, or tried to. */
  readonly changed: ReadonlySet<string>;
  /** What answers with status 200 to sends and replacements showed. */
  readonly shown: readonly { readonly id: string; readonly revision: number }[];
  /** Answers with status 200 to replacements, and to cancels. */
  readonly replaced: () => number;
  readonly canceled: () => number;
  /** Calls that were left at an instance without an answer. */
  readonly left: () => number;
  /** Resolves when every caller has ended, and every call that was left is answered or lost. */
  readonly ended: Promise<void>;
}

/** Where the callers call, and for whom. */
export interface CallerTargets {
  readonly addresses: readonly string[];
  /** The ids of the relayers. */
  readonly relayers: readonly string[];
}

/**
 * Sends payments of all relayers, each until it is accepted, and replaces and cancels some of them, until the signal aborts. Each try goes to one of the addresses by
 * chance, and all tries of a call have one idempotency key.
 */
export function startCallers(run: FaultRun, { addresses, relayers }: CallerTargets, signal: AbortSignal): Traffic {
  const random = run.random.fork('callers');
  const accepted = new Map<string, { readonly id: string; readonly relayer: string }>();
  const changed = new Set<string>();
  const shown: { id: string; revision: number }[] = [];
  const left = new Set<Promise<unknown>>();
  let payments = 0;
  let replacements = firstReplacement;
  let replaced = 0;
  let canceled = 0;
  let leftCalls = 0;

  /** Resolves to undefined if another try is needed. */
  async function tryOnce(verb: string, path: string, body: object | undefined, key: string, read: (answer: Answer) => void) {
    const address = addresses[random.between(0, addresses.length - 1)] ?? '';
    // An answer that comes late must not contradict the one that another instance gave.
    const call = rest(address, verb, path, body, { 'idempotency-key': key }).then(
      (answer) => {
        if (answer.status === 200) read(answer);
        return answer;
      },
      () => undefined,
    );
    const patience = new AbortController();
    const answer = await Promise.race([call, delay(answerPatienceMs, null, { signal: patience.signal }).catch(() => null)]);
    patience.abort();
    if (answer === null) {
      leftCalls += 1;
      left.add(call);
      void call.finally(() => left.delete(call));
    }
    return answer === null || answer === undefined || answer.status >= 500 || answer.status === 409 || answer.status === 429
      ? undefined
      : answer;
  }

  async function send(): Promise<void> {
    const payment = paymentOf(payments++);
    const { value } = payment;
    const relayer = relayers[random.between(0, relayers.length - 1)] ?? '';
    const accept = ({ body }: Answer): void => {
      const { id, revision } = body.data;
      const earlier = accepted.get(value);
      if (earlier !== undefined && earlier.id !== id)
        run.violation('one payment was accepted as two transactions', { value, ids: [earlier.id, id] });
      accepted.set(value, { id, relayer });
      shown.push({ id, revision });
    };
    const answer = await waitFor(
      `payment ${value} to be accepted`,
      () => tryOnce('POST', `/relayers/${relayer}/transactions`, payment, `payment-${value}`, accept),
      acceptanceLimitMs,
    );
    if (answer.status !== 200) run.violation(`a send was answered ${answer.status}: ${answer.text}`);
  }

  /** Whether it succeeded, the records and the chain say: the transaction may be mined by now. */
  async function change(): Promise<void> {
    const newest = [...accepted].slice(-2 * callers);
    const [value, payment] = newest[random.between(0, newest.length - 1)] ?? [];
    if (value === undefined || payment === undefined) return;
    changed.add(value);
    const { id, relayer } = payment;
    const path = `/relayers/${relayer}/transactions/${id}`;
    replacements += 1;
    const body = { to: otherReceiver, value: replacements, speed: 'fast' };
    const key = `replacement-${replacements}`;
    const isReplacement = random.chance(0.7);
    const read = ({ body: { data } }: Answer): void => {
      if (isReplacement) shown.push({ id: data.id, revision: data.revision });
    };
    const answer = await waitFor(
      `a change of ${id} to be answered`,
      () => (isReplacement ? tryOnce('PUT', path, body, key, read) : tryOnce('DELETE', path, undefined, key, read)),
      acceptanceLimitMs,
    );
    if (answer.status !== 200 && answer.status !== 400) run.violation(`a change was answered ${answer.status}: ${answer.text}`);
    if (answer.status === 200 && isReplacement) replaced += 1;
    if (answer.status === 200 && !isReplacement) canceled += 1;
  }

  async function call(): Promise<void> {
    while (!signal.aborted) {
      await (random.chance(0.8) ? send() : change());
      await delay(random.between(0, greatestGapMs));
    }
  }

  async function callUntilAborted(): Promise<void> {
    const ended = await Promise.allSettled(Array.from({ length: callers }, call));
    for (const one of ended) if (one.status === 'rejected') run.violation(String(one.reason));
    await Promise.all(left);
  }

  return {
    accepted,
    changed,
    shown,
    replaced: () => replaced,
    canceled: () => canceled,
    left: () => leftCalls,
    ended: callUntilAborted(),
  };
}
