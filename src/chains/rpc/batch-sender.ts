import type { DurationClock } from '../../core/work/clock.js';
import type { Log } from '../../core/work/log.js';
import type { HttpClient } from './http-client.js';
import {
  batchBody,
  isDue,
  type Responder,
  type RpcCall,
  type Settled,
  settledFromBatch,
  settledFromSingle,
  singleBody,
} from './json-rpc.js';
import { NodeError, TransportError, UnsentError } from './node-error.js';

/** Number of concurrent reads if the endpoint rejects batches. */
const maxConcurrentReads = 8;
/**
 * A batch that the endpoint once rejected is tried again after this time: a proof that needs one answer from one node must not fail
 * forever.
 */
const batchLimitMs = 600_000;

/** Sends calls to one endpoint in requests of the size that it accepts. */
export interface BatchSender {
  /** See `Endpoint.ask`. */
  send<T>(calls: readonly RpcCall<T>[], inOrder: boolean, asOne: boolean): Promise<readonly Settled<T>[]>;
}

/** The options of a batch sender. */
export interface BatchSenderOptions {
  readonly networkName: string;
  readonly responder: Responder;
  readonly client: Pick<HttpClient, 'post'>;
  /** Awaited on every new connection before it carries a call. */
  readonly verified: () => Promise<void>;
  readonly clock: DurationClock;
  readonly log: Log;
}

/** Creates a sender that does not know a limit of batches yet. */
export function createBatchSender({ networkName, responder, client, verified, clock, log }: BatchSenderOptions): BatchSender {
  const { host } = responder.target;
  /** The largest batch that the endpoint accepts, as far as it has shown that, and since when this is known. */
  let batchLimit: { readonly calls: number; readonly sinceMs: number } | null = null;

  /** Calls may stop being due at any answer: requests follow one another, and each may take as long as an endpoint may. */
  async function send<T>(calls: readonly RpcCall<T>[], inOrder: boolean, asOne: boolean): Promise<readonly Settled<T>[]> {
    const due = calls.filter(isDue);
    if (due.length === calls.length) return sendDue(calls, inOrder, asOne);
    const settled = due.length === 0 ? [] : await sendDue(due, inOrder, asOne);
    const byCall = new Map(due.map((call, index) => [call, settled[index]]));
    return calls.map((call) => byCall.get(call) ?? { error: new UnsentError(host) });
  }

  async function sendDue<T>(calls: readonly RpcCall<T>[], inOrder: boolean, asOne: boolean): Promise<readonly Settled<T>[]> {
    const [first] = calls;
    if (first !== undefined && calls.length === 1) return [await single(first)];
    const maxBatch = knownMaxBatch();
    if (asOne && calls.length > maxBatch) return unbatchable(calls);
    if (maxBatch === 1) return singles(calls, inOrder);
    if (calls.length > maxBatch) return inParts(calls, maxBatch, inOrder);
    const firstId = responder.takeIds(calls.length);
    const response = await client.post(batchBody(calls, firstId), calls.length, repeatable(calls));
    const answer = settledFromBatch(response, calls, responder, firstId);
    if (answer.kind === 'answered') return answer.settled;
    if (asOne) {
      const alone = first === undefined ? [] : [await single(first)];
      if (alone.some(isEndpointFailure)) return calls.flatMap(() => alone);
      limitBatches(answer.kind === 'too large' ? calls.length - 1 : 1, response.statusCode);
      return unbatchable(calls);
    }
    if (answer.kind === 'too large') {
      // The calls with an answer have been acted on: only the others follow in smaller batches.
      const half = Math.max(1, Math.floor(calls.length / 2));
      const open = calls.flatMap((call, index) => (answer.settled[index] === null ? [{ call, index }] : []));
      const again = await inParts(
        open.map(({ call }) => call),
        half,
        inOrder,
      );
      if (again.some(isAnswered) && half < knownMaxBatch()) limitBatches(half, response.statusCode);
      const settled = [...answer.settled];
      for (const [position, { index }] of open.entries()) settled[index] = again[position] ?? null;
      return settled.map((item) => item ?? { error: new TransportError(host, 'response to a batch lacks the result of one of its calls') });
    }
    // Single calls show whether the batch was the problem.
    const oneByOne = await singles(calls, inOrder);
    if (oneByOne.some(isAnswered)) limitBatches(1, response.statusCode);
    return oneByOne;
  }

  /** The endpoint works, so this is no failure of it. */
  function unbatchable<T>(calls: readonly RpcCall<T>[]): readonly Settled<T>[] {
    const reason = `${host} does not accept ${calls.length} calls in one request`;
    const error = new NodeError(reason, { code: 0, data: null, isAboutNode: true, isOverload: false });
    return calls.map(() => ({ error }));
  }

  function knownMaxBatch(): number {
    const isKnown = batchLimit !== null && clock.elapsedMs() - batchLimit.sinceMs < batchLimitMs;
    return isKnown && batchLimit !== null ? batchLimit.calls : Number.POSITIVE_INFINITY;
  }

  function limitBatches(calls: number, statusCode: number): void {
    const isNews = batchLimit?.calls !== calls;
    batchLimit = { calls, sinceMs: clock.elapsedMs() };
    if (!isNews) return;
    const message =
      calls === 1
        ? 'RPC endpoint rejects batches; sending one call per request'
        : 'RPC endpoint rejects large batches; sending smaller ones';
    log.info({ network: networkName, host, statusCode, calls }, message);
  }

  /** Sends requests with at most `size` calls. Stops at the first part without an answer; throws if that is the first of all. */
  async function inParts<T>(calls: readonly RpcCall<T>[], size: number, inOrder: boolean): Promise<readonly Settled<T>[]> {
    const settled: Settled<T>[] = [];
    while (settled.length < calls.length) {
      const part = calls.slice(settled.length, settled.length + Math.min(size, knownMaxBatch()));
      const isFirst = settled.length === 0;
      const answers = await send(part, inOrder, false).catch((error: unknown) => {
        if (isFirst || !(error instanceof TransportError)) throw error;
        return calls.slice(settled.length).map(() => ({ error }));
      });
      settled.push(...answers);
    }
    return settled;
  }

  /** Sends one call per request. Stops at the first call without an answer; throws if that is the first of all. */
  async function singles<T>([first, ...others]: readonly RpcCall<T>[], inOrder: boolean): Promise<readonly Settled<T>[]> {
    if (first === undefined) return [];
    const settled: Settled<T>[] = [await single(first)];
    const step = inOrder ? 1 : maxConcurrentReads;
    for (let at = 0; at < others.length; at += step) {
      const answers = await Promise.all(others.slice(at, at + step).map((call) => single(call).catch(transportErrorOf)));
      settled.push(...answers);
      const unanswered = answers.find((answer) => 'error' in answer && answer.error instanceof TransportError && !isUnsent(answer));
      if (unanswered !== undefined) return [...settled, ...others.slice(at + step).map(() => unanswered)];
    }
    return settled;
  }

  async function single<T>(call: RpcCall<T>): Promise<Settled<T>> {
    if (!isDue(call)) return { error: new UnsentError(host) };
    return settledFromSingle(await client.post(singleBody(call, responder.takeIds(1)), 1, repeatable([call])), call, responder);
  }

  /** Awaited before a request is repeated on a new connection. */
  function repeatable<T>(calls: readonly RpcCall<T>[]): () => Promise<void> {
    return async () => {
      await verified();
      if (!calls.every(isDue)) throw new UnsentError(host);
    };
  }

  return { send };
}

/** True if the endpoint failed: no answer, a malformed answer, or a rate limit. */
export function isEndpointFailure<T>(item: Settled<T>): item is Extract<Settled<T>, { error: unknown }> {
  return 'error' in item && !isUnsent(item) && (item.error instanceof TransportError || item.error.isOverload);
}

/** True if the endpoint answered, and did not fail. */
export function isAnswered<T>(item: Settled<T>): boolean {
  return !isUnsent(item) && !isEndpointFailure(item);
}

function isUnsent<T>(item: Settled<T>): boolean {
  return 'error' in item && item.error instanceof UnsentError;
}

/** Returns a transport error as the result of a call. Throws any other error. */
export function transportErrorOf(error: unknown): { readonly error: TransportError } {
  if (error instanceof TransportError) return { error };
  throw error;
}
