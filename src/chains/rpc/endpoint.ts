import type { buildConnector } from 'undici';
import type { NodeCalls } from '../../core/ports/chain.js';
import type { Telemetry } from '../../core/ports/telemetry.js';
import type { Network, RpcUrl } from '../../core/records/network.js';
import type { DurationClock } from '../../core/work/clock.js';
import type { Log } from '../../core/work/log.js';
import { type CallMark, type CircuitBreaker, createCircuitBreaker } from './circuit-breaker.js';
import { type createHttpClient, rpcTargetFrom } from './http-client.js';
import { batchBody, type NodeDialect, type RpcCall, type Settled, settledFromBatch, settledFromSingle, singleBody } from './json-rpc.js';
import type { Position } from './lag-tracker.js';
import { NodeError, TransportError } from './node-error.js';

/** Number of concurrent reads if the endpoint rejects batches. */
const maxConcurrentReads = 8;
/**
 * A batch that the endpoint once rejected is tried again after this time: a proof that needs one answer from one node must not fail
 * forever.
 */
const batchLimitMs = 600_000;

/** The options of the RPC client of a network. */
export interface RpcOptions<N extends Network = Network> {
  readonly network: N;
  /** The relayer's own RPC URLs, or the network's. URLs of weight 0 are not used. */
  readonly rpcUrls: readonly RpcUrl[];
  /** Limit for one request to one URL, including the connection. */
  readonly rpcTimeoutMs: number;
  /** Returns the connector for a URL that is not trusted; undefined: it is trusted. */
  readonly connectorFor?: ((url: string) => buildConnector.connector | undefined) | undefined;
  readonly log: Log;
  readonly telemetry?: Telemetry;
  /** Default: the system clock. */
  readonly clock?: DurationClock;
  /** Opens the way to a URL. Default: HTTP. */
  readonly openHttp?: typeof createHttpClient;
}

/** One RPC URL of a network. */
export interface Endpoint
  extends Pick<CircuitBreaker, 'isTripped' | 'isProbeDue' | 'isBlocked' | 'trippedBy' | 'pausedUntilMs' | 'caughtUp'> {
  readonly weight: number;
  readonly host: string;
  /**
   * Sends calls and returns their results in the same order: as one batch if the endpoint accepts batches, else as single requests, one
   * after the other if `inOrder`. `asOne`: as one batch or not at all. Throws `TransportError` if the endpoint does not answer or serves
   * another chain.
   */
  ask<T>(calls: readonly RpcCall<T>[], inOrder: boolean, asOne?: boolean): Promise<readonly Settled<T>[]>;
  /** Returns its newest block. Throws `TransportError`. */
  position(): Promise<Position>;
  /** Returns the hash of its block at this height; null: it shows none, which proves nothing. */
  hashAt(height: bigint): Promise<string | null>;
  /** The genesis hash that it last returned, if it was not the expected one; else null. */
  foreignGenesis(): string | null;
  /** Removes the endpoint from rotation because its head is far behind, or cannot exist yet. */
  markOff(standing: 'behind' | 'ahead'): void;
  calls(): NodeCalls;
  close(): Promise<void>;
}

/** The options of an endpoint. */
export interface EndpointOptions extends Required<Omit<RpcOptions, 'rpcUrls' | 'connectorFor'>>, Pick<RpcOptions, 'connectorFor'> {
  readonly url: RpcUrl;
  readonly dialect: NodeDialect;
  /** The genesis hash that it must have; null while it is unknown. Verified together with the identity. */
  readonly genesisHash: () => string | null;
}

/** Opens an endpoint; sends nothing yet. Errors and logs contain only the host of the URL. */
export function createEndpoint({
  url,
  dialect,
  genesisHash,
  network,
  rpcTimeoutMs,
  connectorFor,
  log,
  telemetry,
  clock,
  openHttp,
}: EndpointOptions): Endpoint {
  const networkName = network.name;
  const target = rpcTargetFrom(url.url, networkName);
  const { host } = target;
  const responder = { target, dialect };
  let verification: Promise<void> | null = null;
  let foreignGenesis: string | null = null;
  let isUnshownLogged = false;
  const onLost = () => {
    verification = null;
  };
  const client = openHttp({ target, networkName, timeoutMs: rpcTimeoutMs, onLost, telemetry, connect: connectorFor?.(url.url) });
  const breaker = createCircuitBreaker(networkName, host, dialect.identity?.expected ?? 'the known genesis block', log, clock.elapsedMs);
  /** The largest batch that the endpoint accepts, as far as it has shown that, and since when this is known. */
  let batchLimit: { readonly calls: number; readonly sinceMs: number } | null = null;

  async function ask<T>(calls: readonly RpcCall<T>[], inOrder: boolean, asOne = false): Promise<readonly Settled<T>[]> {
    if (breaker.isBlocked()) throw new TransportError(host, 'not used: it serves another chain or asked for a pause');
    const mark = breaker.begin();
    try {
      await verified();
      const settled = await send(calls, inOrder, asOne);
      const failure = settled.find(isEndpointFailure);
      if (failure === undefined) breaker.worked(mark);
      else recordFailure(`${host}: ${failure.error.message}`, null, mark);
      return settled;
    } catch (error) {
      if (error instanceof TransportError && !(error instanceof OtherChainError)) recordFailure(error.message, error.retryAfterMs, mark);
      throw error;
    }
  }

  function recordFailure(detail: string, retryAfterMs: number | null, mark: CallMark): void {
    // After a failure, another node may answer behind the same URL.
    verification = null;
    breaker.failed({ kind: 'failing', detail, retryAfterMs }, mark);
  }

  function verified(): Promise<void> {
    if (verification !== null) return verification;
    const current = verify();
    verification = current;
    current.catch(() => {
      if (verification === current) verification = null;
    });
    return current;
  }

  async function verify(): Promise<void> {
    const { identity, genesis } = dialect;
    const mark = breaker.begin();
    const answered = identity === null ? null : await askUnverified(identity.call, identity.name);
    if (identity !== null && answered !== null && !identity.isExpected(answered)) rejectOtherChain(answered, mark);
    const expected = genesisHash();
    if (genesis === null || expected === null) return;
    const asked = askUnverified(genesis(expected), 'genesis block');
    // Where the node has said its chain, the genesis block is a bonus: some nodes have pruned it.
    const hash = identity === null ? await asked : await asked.catch(noneIfUnanswered);
    if (hash === null) {
      noteUnshown();
      return;
    }
    foreignGenesis = hash === expected ? null : hash;
    if (foreignGenesis !== null) rejectOtherChain(answered === null ? `genesis ${hash}` : `${answered}, with genesis block ${hash}`, mark);
  }

  function rejectOtherChain(answered: string, mark: CallMark): never {
    breaker.failed({ kind: 'other_chain', answered }, mark);
    throw new OtherChainError(host);
  }

  function noteUnshown(): void {
    if (!isUnshownLogged)
      log.info({ network: networkName, host }, 'RPC endpoint does not show the genesis block; its chain ID is verified');
    isUnshownLogged = true;
  }

  async function askUnverified<T>(call: RpcCall<T>, what: string): Promise<T> {
    const settled = settledFromSingle(await client.post(singleBody(call), 1), call, responder);
    if ('error' in settled) throw new TransportError(host, `did not return its ${what}: ${settled.error.message}`);
    return settled.result;
  }

  async function send<T>(calls: readonly RpcCall<T>[], inOrder: boolean, asOne = false): Promise<readonly Settled<T>[]> {
    const [first] = calls;
    if (first !== undefined && calls.length === 1) return [await single(first)];
    const maxBatch = knownMaxBatch();
    if (asOne && calls.length > maxBatch) return unbatchable(calls);
    if (maxBatch === 1) return singles(calls, inOrder);
    if (calls.length > maxBatch) return inParts(calls, maxBatch, inOrder);
    const response = await client.post(batchBody(calls), calls.length, verified);
    const answer = settledFromBatch(response, calls, responder);
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
      if (again.some((item) => !isEndpointFailure(item)) && half < knownMaxBatch()) limitBatches(half, response.statusCode);
      const settled = [...answer.settled];
      for (const [position, { index }] of open.entries()) settled[index] = again[position] ?? null;
      return settled.map((item) => item ?? { error: new TransportError(host, 'response to a batch lacks the result of one of its calls') });
    }
    // Single calls show whether the batch was the problem.
    const oneByOne = await singles(calls, inOrder);
    if (oneByOne.some((item) => !isEndpointFailure(item))) limitBatches(1, response.statusCode);
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
      const answers = await send(part, inOrder).catch((error: unknown) => {
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
      const unanswered = answers.find((answer) => 'error' in answer && answer.error instanceof TransportError);
      if (unanswered !== undefined) return [...settled, ...others.slice(at + step).map(() => unanswered)];
    }
    return settled;
  }

  async function single<T>(call: RpcCall<T>): Promise<Settled<T>> {
    return settledFromSingle(await client.post(singleBody(call), 1, verified), call, responder);
  }

  return {
    ...breaker,
    weight: url.weight,
    host,
    ask,
    async hashAt(height) {
      const call = dialect.hashAt?.(height) ?? null;
      if (call === null || breaker.isBlocked()) return null;
      const [settled] = await ask([call], true).catch((error: unknown) => [transportErrorOf(error)]);
      return settled !== undefined && 'result' in settled ? settled.result : null;
    },
    async position() {
      const [settled] = await ask([dialect.position], true);
      if (settled !== undefined && 'result' in settled) return settled.result;
      throw new TransportError(host, `did not return its newest block: ${settled?.error.message}`);
    },
    foreignGenesis: () => foreignGenesis,
    markOff: (standing) =>
      breaker.failed({ kind: standing === 'behind' ? 'lagging' : 'ahead', detail: offDetails[standing] }, breaker.begin()),
    calls: client.calls,
    close: client.close,
  };
}

const offDetails = {
  behind: 'its newest block is several blocks behind',
  ahead: 'its newest block is further ahead of the other endpoints than the chain can have grown',
};

/** A `TransportError` that the circuit breaker has already recorded. */
class OtherChainError extends TransportError {
  constructor(host: string) {
    super(host, 'serves another chain');
  }
}

function noneIfUnanswered(error: unknown): null {
  if (error instanceof TransportError) return null;
  throw error;
}

/** True if the endpoint failed: no answer, a malformed answer, or a rate limit. */
function isEndpointFailure<T>(item: Settled<T>): item is Extract<Settled<T>, { error: unknown }> {
  return 'error' in item && (item.error instanceof TransportError || item.error.isOverload);
}

function transportErrorOf(error: unknown): { readonly error: TransportError } {
  if (error instanceof TransportError) return { error };
  throw error;
}
