import type { Log } from '../../core/ports/log.js';
import type { Telemetry } from '../../core/ports/telemetry.js';
import type { RpcUrl } from '../../core/relayer/network.js';
import { type CallMark, createCondition } from './condition.js';
import type { NodeDialect } from './dialect.js';
import { createHttpWire, type HostCalls, rpcTargetFrom } from './http-wire.js';
import { batchBody, type RpcCall, type Settled, settledFromBatch, settledFromSingle, singleBody } from './json-rpc.js';
import { TransportError } from './node-error.js';

/** Reads of a refused batch that go out at the same time. */
const greatestParallel = 8;

/** One URL of a network. */
export interface Endpoint {
  readonly weight: number;
  /** True while it failed of late and others should be asked first. */
  isResting(): boolean;
  /** Resting, and it may be tried again. */
  isDue(): boolean;
  /** Not to be asked at all now. */
  isBarred(): boolean;
  restsUntilMs(): number;
  /**
   * What became of each call, in their order: one request where the URL takes batches, else one each, one after the other when `inOrder`.
   * Throws `TransportError` when it cannot be asked or is on another chain.
   */
  ask<T>(calls: readonly RpcCall<T>[], inOrder: boolean): Promise<readonly Settled<T>[]>;
  /** The number of its newest block. Throws `TransportError`. */
  height(): Promise<bigint>;
  /** The genesis block that it told of last, when it was not ours; null: it was, or none was seen. */
  foreignGenesis(): string | null;
  /** Its head is far behind others': it rests. */
  lags(): void;
  /** Its head is level with others'. */
  caughtUp(): void;
  calls(): HostCalls;
  close(): Promise<void>;
}

/** What an endpoint needs. */
export interface EndpointOptions {
  readonly url: RpcUrl;
  readonly dialect: NodeDialect;
  /** Hash of the genesis block that it must have, asked for at the same times; null while none is known. */
  readonly genesisHash: () => string | null;
  readonly networkName: string;
  /** For a whole request, connecting included. */
  readonly timeoutMs: number;
  readonly log: Log;
  readonly telemetry: Telemetry;
}

/** Opens a URL lazily. Neither errors nor logs have more of the URL than its host. */
export function createEndpoint({ url, dialect, genesisHash, networkName, timeoutMs, log, telemetry }: EndpointOptions): Endpoint {
  const target = rpcTargetFrom(url.url, networkName);
  const { host } = target;
  const answerer = { target, dialect };
  let verification: Promise<void> | null = null;
  let foreignGenesis: string | null = null;
  const onLost = () => {
    verification = null;
  };
  const wire = createHttpWire({ target, networkName, timeoutMs, onLost, telemetry });
  const condition = createCondition(networkName, host, dialect.identity?.expected ?? 'the known genesis', log);
  let refusesBatches = false;

  async function ask<T>(calls: readonly RpcCall<T>[], inOrder: boolean): Promise<readonly Settled<T>[]> {
    if (condition.isBarred()) throw new TransportError(host, 'is not asked now: it is on another chain, or asked for a pause');
    const mark = condition.begin();
    try {
      await verified();
      const settled = await send(calls, inOrder);
      const trouble = settled.find(isTrouble);
      if (trouble === undefined) condition.worked(mark);
      else failed(`${host}: ${trouble.error.message}`, null, mark);
      return settled;
    } catch (error) {
      if (error instanceof TransportError && !(error instanceof OtherChainError)) failed(error.message, error.retryAfterMs, mark);
      throw error;
    }
  }

  function failed(detail: string, retryAfterMs: number | null, mark: CallMark): void {
    // Behind a URL that failed another node may answer next.
    verification = null;
    condition.failed({ kind: 'failing', detail, retryAfterMs }, mark);
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
    const mark = condition.begin();
    const said = identity === null ? null : await told(identity.call, identity.name);
    if (identity !== null && said !== null && !identity.isOurs(said)) refuseAsOtherChain(said, mark);
    const expected = genesisHash();
    if (genesis === null || expected === null) return;
    const hash = await told(genesis, 'genesis block');
    if (hash === expected) {
      foreignGenesis = null;
      return;
    }
    foreignGenesis = hash;
    refuseAsOtherChain(said === null ? `genesis ${hash}` : `${said}, with genesis block ${hash}`, mark);
  }

  function refuseAsOtherChain(answered: string, mark: CallMark): never {
    condition.failed({ kind: 'other_chain', answered }, mark);
    throw new OtherChainError(host);
  }

  /** Asks without being verified. Throws `TransportError`. */
  async function told(call: RpcCall<string>, what: string): Promise<string> {
    const settled = settledFromSingle(await wire.post(singleBody(call), 1), call, answerer);
    if ('error' in settled) throw new TransportError(host, `does not tell its ${what}: ${settled.error.message}`);
    return settled.result;
  }

  async function send<T>(calls: readonly RpcCall<T>[], inOrder: boolean): Promise<readonly Settled<T>[]> {
    const [first] = calls;
    if (first !== undefined && calls.length === 1) return [await single(first)];
    if (refusesBatches) return singles(calls, inOrder);
    const answer = await wire.post(batchBody(calls), calls.length, verified);
    const settled = settledFromBatch(answer, calls, answerer);
    if (settled !== null) return settled;
    // Whether it was the batch that it did not like, single calls tell.
    const oneByOne = await singles(calls, inOrder);
    if (oneByOne.some((item) => !isTrouble(item))) {
      refusesBatches = true;
      log.info({ network: networkName, host, statusCode: answer.statusCode }, 'an RPC URL refuses batches and is asked one call at a time');
    }
    return oneByOne;
  }

  /** Throws when not even the first call was answered. After one without an answer the rest is not asked. */
  async function singles<T>([first, ...others]: readonly RpcCall<T>[], inOrder: boolean): Promise<readonly Settled<T>[]> {
    if (first === undefined) return [];
    const settled: Settled<T>[] = [await single(first)];
    const step = inOrder ? 1 : greatestParallel;
    for (let at = 0; at < others.length; at += step) {
      const answers = await Promise.all(others.slice(at, at + step).map((call) => single(call).catch(transportErrorOf)));
      settled.push(...answers);
      const unanswered = answers.find((answer) => 'error' in answer && answer.error instanceof TransportError);
      if (unanswered !== undefined) return [...settled, ...others.slice(at + step).map(() => unanswered)];
    }
    return settled;
  }

  async function single<T>(call: RpcCall<T>): Promise<Settled<T>> {
    return settledFromSingle(await wire.post(singleBody(call), 1, verified), call, answerer);
  }

  return {
    weight: url.weight,
    isResting: condition.isResting,
    isDue: condition.isDue,
    isBarred: condition.isBarred,
    restsUntilMs: condition.restsUntilMs,
    ask,
    async height() {
      const [settled] = await ask([dialect.height], true);
      if (settled !== undefined && 'result' in settled) return settled.result;
      throw new TransportError(host, `does not tell its newest block: ${settled?.error.message}`);
    },
    foreignGenesis: () => foreignGenesis,
    lags: () => condition.failed({ kind: 'lagging', detail: 'its newest block is several behind' }, condition.begin()),
    caughtUp: condition.caughtUp,
    calls: wire.calls,
    close: wire.close,
  };
}

/** A `TransportError` that the condition has been told of already. */
class OtherChainError extends TransportError {
  constructor(host: string) {
    super(host, 'is on another chain');
  }
}

/** An item that says that the URL does not do its work: no answer, nonsense, or a plea to be asked less. */
function isTrouble<T>(item: Settled<T>): item is { readonly error: Extract<Settled<T>, { error: unknown }>['error'] } {
  return 'error' in item && (item.error instanceof TransportError || item.error.isOverload);
}

function transportErrorOf(error: unknown): { readonly error: TransportError } {
  if (error instanceof TransportError) return { error };
  throw error;
}
