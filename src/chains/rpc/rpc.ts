import type { EndpointView, NodeCalls } from '../../core/ports/chain/chain.js';
import { noTelemetry } from '../../core/ports/telemetry.js';
import { systemClock } from '../../core/work/clock.js';
import { type BatchOptions, type CallOptions, createCallRouter } from './call-router.js';
import { createEndpoint, type Endpoint, type RpcOptions } from './endpoint.js';
import { createEndpointSelector } from './endpoint-selector.js';
import type { NodeDialect, RpcCall, Settled } from './json-rpc.js';
import type { Position } from './lag-tracker.js';
import { NodeError, nodeUnavailable, TransportError } from './node-error.js';
import { createSharedCalls, maxBatchCalls } from './shared-calls.js';

/** A newest block, as far as a node shows it. */
type NewestBlock = Pick<Position, 'number' | 'hash' | 'parentHash'> & { readonly timestampMs?: number | null };

/** The result of one call, and the place of the endpoint that gave it; null: none did. */
export type Answered<T> = Settled<T> & { readonly by: number | null };

/** The JSON-RPC client of a network. */
export interface Rpc {
  /** Sends a call. Throws `NodeError` if a node answers with an error, `NODE_UNAVAILABLE` if none answers. */
  call<T>(call: RpcCall<T>, options?: CallOptions): Promise<T>;
  /** Sends a call that no node has a reason to reject. Throws `NODE_UNAVAILABLE`, also for a node's error. */
  ask<T>(call: RpcCall<T>, options?: CallOptions): Promise<T>;
  /**
   * Sends a call to several endpoints in rotation, at most `maxOpinions`. Returns the answers, at least one. Throws `NODE_UNAVAILABLE` if
   * no endpoint gives one.
   */
  opinions<T>(call: RpcCall<T>): Promise<readonly T[]>;
  /** Sends calls, in batches if the endpoint accepts them. Returns the results in the same order. Never throws because of a node. */
  batch<T>(calls: readonly RpcCall<T>[], options?: BatchOptions<T>): Promise<readonly Answered<T>[]>;
  /**
   * Sends calls whose answers must be consistent: one endpoint answers all of them in one request, since the nodes behind one URL differ.
   * If it fails one or does not accept such a batch, the next endpoint gets them all. Throws `NODE_UNAVAILABLE` if no endpoint answers them
   * all.
   */
  together<T extends readonly unknown[]>(calls: { readonly [K in keyof T]: RpcCall<T[K]> }, options?: CallOptions): Promise<T>;
  /**
   * Like `ask`, for the newest block. From then on `first: 'head'` means the endpoint that answered. A block that cannot exist yet,
   * compared with those of the other endpoints, is not returned.
   */
  askHead<T extends NewestBlock>(call: RpcCall<T>): Promise<T>;
  /** The number of the newest block that `askHead` returned; null: none yet. */
  newestNumber(): bigint | null;
  /** The endpoint that reported the head, as its place in the order of the weights; undefined: none has. */
  headEndpoint(): number | undefined;
  /** How often an endpoint that had reported heads turned out to show wrong heights: what was learned from its heads may be wrong. */
  wrongHeads(): number;
  /** How long all endpoints but the ones at these places have answered nothing that they were asked. */
  silentForMs(without: readonly number[]): number;
  /** True if only one endpoint is configured: only its own later answers can confirm an answer. */
  isSingle(): boolean;
  /** True if at most one endpoint is in use: no other one confirms what it answers. */
  isAlone(): boolean;
  /** Uses only nodes with this genesis block from now on. */
  expectGenesis(hash: string): void;
  /**
   * The genesis hash of the first endpoint if every endpoint has an unexpected one, else null: an endpoint that is down may have the
   * expected one.
   */
  foreignGenesis(): string | null;
  /** See `Chain.forkedHosts`. */
  forkedHosts(): readonly string[];
  /** True while an endpoint is on another branch of the chain than the head, which may be the right one. */
  hasRival(): boolean;
  /** See `Chain.endpoints`. */
  endpoints(): readonly EndpointView[];
  /** Requests sent to all endpoints. */
  calls(): NodeCalls;
  close(): Promise<void>;
}

/** Two of them outvote the third. */
export const maxOpinions = 3;
/** Gateways reject bodies over a megabyte. */
const maxBatchCharacters = 512 * 1024;

/**
 * Creates a JSON-RPC client over several endpoints. Working endpoints share the calls by weight. The head comes from one endpoint as long
 * as that works, because the heads of two nodes go back and forth; calls that must fit the head go there too. An endpoint that fails or
 * lags is removed from rotation and probed in the background before it is used again. If none works, all are tried except blocked ones.
 */
export function createRpc(rpcOptions: RpcOptions, dialect: NodeDialect): Rpc {
  const { network, rpcUrls, log, telemetry = noTelemetry, clock = systemClock } = rpcOptions;
  let genesis: string | null = null;
  let newest: bigint | null = null;
  const endpoints = rpcUrls
    .filter((url) => url.weight > 0)
    .toSorted((a, b) => b.weight - a.weight)
    .map((url) => createEndpoint({ ...rpcOptions, telemetry, clock, url, dialect, genesisHash: () => genesis }));
  const selector = createEndpointSelector(endpoints, {
    networkName: network.name,
    averageBlockTimeMs: network.averageBlockTimeMs,
    requiredConfirmations: network.requiredConfirmations,
    clock,
    log,
  });
  const { settle } = createCallRouter(network.name, selector, log);
  const sharedCalls = createSharedCalls(async (calls, options) => (await settle(calls, options)).settled);

  function working(): readonly Endpoint[] {
    return selector.order().filter((endpoint) => !endpoint.isTripped());
  }

  /** Returns the result of each call. */
  async function answersTo<T>(calls: readonly RpcCall<T>[], options: BatchOptions<T>): Promise<readonly Answered<T>[]> {
    const settled =
      options.shared === true
        ? await Promise.all(calls.map((call) => sharedCalls.share(call, options)))
        : (await settle(calls, options)).settled;
    return settled.map(({ answer, from }) => {
      const by = from === null ? null : endpoints.indexOf(from);
      if (by !== null) options.answeredBy?.add(by);
      return { ...answer, by };
    });
  }

  async function call<T>(one: RpcCall<T>, given: CallOptions = {}): Promise<T> {
    const options = one.asks === 'head' ? { first: 'head' as const, ...given } : given;
    const [answer] = await answersTo([one], options);
    if (answer !== undefined && 'result' in answer) return answer.result;
    throw answer?.error instanceof NodeError ? answer.error : nodeUnavailable(answer?.error);
  }

  return {
    call,
    ask: (one, options) => call(one, options).catch(unavailable),
    async opinions<T>(one: RpcCall<T>) {
      const answers = await Promise.all(
        working()
          .slice(0, maxOpinions)
          .map((endpoint) => opinionOf(endpoint, one)),
      );
      const known = answers.flatMap((answer) => answer ?? []);
      return known.length > 0 ? known.map(({ result }) => result) : [await call(one).catch(unavailable)];
    },
    async batch<T>(calls: readonly RpcCall<T>[], options: BatchOptions<T> = {}) {
      const all: Answered<T>[] = [];
      for (const chunk of chunksOf(calls)) all.push(...(await answersTo(chunk, options)));
      return all;
    },
    async together<T extends readonly unknown[]>(calls: { readonly [K in keyof T]: RpcCall<T[K]> }, options: CallOptions = {}) {
      const answers = await answersTo<T[number]>(calls, { ...options, whole: true });
      return answers.map((answer) => {
        if ('error' in answer) throw nodeUnavailable(answer.error);
        return answer.result;
      }) as readonly unknown[] as T;
    },
    async askHead<T extends NewestBlock>(one: RpcCall<T>) {
      selector.expectHead();
      for (const _ of endpoints) {
        const askedAtMs = clock.elapsedMs();
        const { settled, by } = await settle([one], { first: 'head' });
        const answer = settled[0]?.answer;
        if (answer === undefined || 'error' in answer) throw nodeUnavailable(answer?.error);
        const { number, timestampMs = null, hash, parentHash = null } = answer.result;
        const position = { number, timestampMs, parentHash, ...(hash === undefined ? {} : { hash }) };
        if (by === null || !(await selector.takeHead(by, position, askedAtMs))) continue;
        newest = number;
        return answer.result;
      }
      throw nodeUnavailable(new TransportError(network.name, 'every RPC endpoint reports a block that cannot exist yet'));
    },
    newestNumber: () => newest,
    wrongHeads: selector.wrongHeads,
    headEndpoint() {
      const source = selector.headSource();
      return source === null ? undefined : endpoints.indexOf(source);
    },
    silentForMs: (without) => Math.min(...endpoints.filter((_, place) => !without.includes(place)).map((one) => one.silentForMs())),
    isSingle: () => endpoints.length === 1,
    isAlone: () => working().length < 2,
    expectGenesis(hash) {
      if (hash === genesis) return;
      genesis = hash;
      // They were verified without it so far.
      for (const endpoint of endpoints) endpoint.verifyAgain();
    },
    foreignGenesis() {
      const hashes = endpoints.map((endpoint) => endpoint.foreignGenesis());
      return hashes.includes(null) ? null : (hashes[0] ?? null);
    },
    forkedHosts: selector.forkedHosts,
    hasRival: selector.hasRival,
    endpoints: selector.endpoints,
    calls() {
      const calls = endpoints.map((endpoint) => endpoint.calls());
      return { http: calls.reduce((sum, { http }) => sum + http, 0), items: calls.reduce((sum, { items }) => sum + items, 0) };
    },
    async close() {
      await Promise.all(endpoints.map((endpoint) => endpoint.close()));
    },
  };
}

/** Returns the answer of this endpoint alone; null if it has none that is usable. */
async function opinionOf<T>(endpoint: Endpoint, call: RpcCall<T>): Promise<{ readonly result: T } | null> {
  try {
    const [settled] = await endpoint.ask([call], true);
    return settled !== undefined && 'result' in settled ? settled : null;
  } catch (error) {
    if (!(error instanceof TransportError)) throw error;
    return null;
  }
}

function unavailable(error: unknown): never {
  throw error instanceof NodeError ? nodeUnavailable(error) : error;
}

/** Splits calls into batches that gateways accept. */
function chunksOf<T>(calls: readonly RpcCall<T>[]): readonly (readonly RpcCall<T>[])[] {
  const chunks: RpcCall<T>[][] = [];
  let characters = 0;
  for (const call of calls) {
    const length = JSON.stringify(call.params).length;
    const chunk = chunks.at(-1);
    if (chunk === undefined || chunk.length >= maxBatchCalls || characters + length > maxBatchCharacters) {
      chunks.push([call]);
      characters = length;
    } else {
      chunk.push(call);
      characters += length;
    }
  }
  return chunks;
}
