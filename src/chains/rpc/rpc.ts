import type { Log } from '../../core/ports/log.js';
import { noTelemetry, type Telemetry } from '../../core/ports/telemetry.js';
import type { RpcUrl } from '../../core/relayer/network.js';
import type { NodeDialect } from './dialect.js';
import { createEndpoint, type Endpoint } from './endpoint.js';
import type { HostCalls } from './http-wire.js';
import type { RpcCall, RpcParams, Settled } from './json-rpc.js';
import { NodeError, nodeUnavailable, TransportError } from './node-error.js';
import { createRoster } from './roster.js';

/** How a question is asked. */
export interface Asking {
  /** The URL that told the head goes first, since the answer must fit that head, or a pool that it feeds. Absent: URLs take turns by weight. */
  readonly first?: 'head';
  /** True: a URL that takes no batches gets the calls one after the other. */
  readonly inOrder?: boolean;
  /** True: one URL must answer all of them. */
  readonly whole?: boolean;
  /** True: one more URL gets the same calls; what it answers does not matter. */
  readonly copied?: boolean;
  /** Whether a refusal speaks of the node, so that the next URL is asked; absent: `NodeError.isAboutNode`. */
  readonly isAboutNode?: (error: NodeError) => boolean;
  /** True: a refusal that speaks of the node counts only when every URL gave one; else nobody could be asked. */
  readonly unanimous?: boolean;
}

/** Asks a network's nodes. */
export interface Rpc {
  /** Throws `NodeError` for a node's refusal, `NODE_UNAVAILABLE` when none can be asked. */
  call<T>(method: string, params: RpcParams, read: RpcCall<T>['read'], asking?: Asking): Promise<T>;
  /** The same for what no node has a reason to refuse: a refusal, too, is `NODE_UNAVAILABLE`. */
  ask<T>(method: string, params: RpcParams, read: RpcCall<T>['read'], asking?: Asking): Promise<T>;
  /** What became of each call, in their order; in batches where nodes take them. Never throws for a node's sake. */
  batch<T>(calls: readonly RpcCall<T>[], asking?: Asking): Promise<readonly Settled<T>[]>;
  /**
   * All of these of one URL, in one request where it takes batches, so that the answers fit one another: where it refuses one of them, the next URL is
   * asked for all. Throws `NODE_UNAVAILABLE` when none answers them all.
   */
  together<T extends readonly unknown[]>(calls: { readonly [K in keyof T]: RpcCall<T[K]> }, asking?: Asking): Promise<T>;
  /** Like `ask`, for the newest block; the URL that answers is the one that `first: 'head'` means from then on. */
  askHead<T extends { readonly number: bigint }>(method: string, params: RpcParams, read: RpcCall<T>['read']): Promise<T>;
  /** From now on only nodes with this genesis block are asked. */
  expectGenesis(hash: string): void;
  /** The genesis block of a URL that has another one; null: none has. */
  foreignGenesis(): string | null;
  calls(): readonly HostCalls[];
  close(): Promise<void>;
}

/** What the client needs. */
export interface RpcOptions {
  readonly dialect: NodeDialect;
  readonly networkName: string;
  readonly averageBlockTimeMs: number;
  /** Those of weight 0 are not used. */
  readonly urls: readonly RpcUrl[];
  /** For one request to one URL. */
  readonly timeoutMs: number;
  readonly log: Log;
  readonly telemetry?: Telemetry;
}

const greatestBatch = 50;
/** Gateways refuse bodies over a megabyte. */
const greatestBatchCharacters = 512 * 1024;
/** Copies under way to second URLs; beyond, none is sent, or a slow URL would gather them. */
const greatestCopies = 4;

/**
 * JSON-RPC over several URLs. Those that work share the questions by weight; the head is asked from one as long as it works, because heads of two
 * nodes go back and forth, and what must fit the head is asked there too. A URL that fails or lags rests, and is tried in the background before it
 * is used again. When none works, all are tried, save those that asked for a pause or are on another chain.
 */
export function createRpc({ dialect, networkName, averageBlockTimeMs, urls, timeoutMs, log, telemetry = noTelemetry }: RpcOptions): Rpc {
  let genesis: string | null = null;
  const endpoints = urls
    .filter((url) => url.weight > 0)
    .toSorted((a, b) => b.weight - a.weight)
    .map((url) => createEndpoint({ url, dialect, genesisHash: () => genesis, networkName, timeoutMs, log, telemetry }));
  const roster = createRoster(endpoints, averageBlockTimeMs, log);
  let copies = 0;

  /** What became of each call, and which URL was asked last. */
  async function settle<T>(calls: readonly RpcCall<T>[], asking: Asking): Promise<{ settled: readonly Settled<T>[]; by: Endpoint | null }> {
    const outcomes = new Map<RpcCall<T>, Settled<T>>();
    const refusals = new Map<RpcCall<T>, NodeError>();
    const order = roster.order(asking.first);
    const isAboutNode = asking.isAboutNode ?? ((error: NodeError) => error.isAboutNode);
    if (asking.copied === true) copy(calls, order);
    const troubles: string[] = [];
    let open = calls;
    let by: Endpoint | null = null;
    for (const endpoint of order) {
      // One that rests may keep us waiting: it is for what nobody could answer, not for a second opinion.
      if (endpoint.isResting() && asking.unanimous !== true) open = open.filter((call) => refusals.get(call)?.isOverload !== false);
      if (open.length === 0) break;
      by = endpoint;
      const answers = await endpoint.ask(open, asking.inOrder === true).catch((error: unknown) => {
        if (!(error instanceof TransportError)) throw error;
        troubles.push(error.message);
        return null;
      });
      if (answers === null) continue;
      const missing = asking.whole === true ? answers.find((answer) => 'error' in answer) : undefined;
      if (missing !== undefined && 'error' in missing) {
        troubles.push(missing.error.message);
        continue;
      }
      open.forEach((call, index) => {
        const answer = answers[index];
        if (answer === undefined) return;
        if ('result' in answer) outcomes.set(call, answer);
        else if (answer.error instanceof TransportError) troubles.push(answer.error.message);
        else if (isAboutNode(answer.error)) refusals.set(call, refusals.get(call) ?? answer.error);
        else outcomes.set(call, answer);
      });
      open = open.filter((call) => !outcomes.has(call));
    }
    const nobody = new TransportError(networkName, [...new Set(troubles)].join('; ') || 'no RPC URL can be asked');
    const settled = calls.map((call): Settled<T> => {
      const refusal = refusals.get(call);
      const isHeard = refusal !== undefined && !(asking.unanimous === true && (troubles.length > 0 || roster.isIncomplete()));
      return outcomes.get(call) ?? { error: isHeard ? refusal : nobody };
    });
    return { settled, by };
  }

  function copy<T>(calls: readonly RpcCall<T>[], order: readonly Endpoint[]): void {
    const second = order[1];
    if (second === undefined || second.isResting() || copies >= greatestCopies) return;
    copies += 1;
    second
      .ask(calls, true)
      .catch((error: unknown) => {
        // A URL tells of its own trouble.
        if (!(error instanceof TransportError)) log.error({ network: networkName, err: error }, 'copying a broadcast went wrong');
      })
      .finally(() => {
        copies -= 1;
      });
  }

  async function call<T>(method: string, params: RpcParams, read: RpcCall<T>['read'], asking: Asking = {}): Promise<T> {
    const { settled } = await settle([{ method, params, read }], asking);
    return resultOf(settled[0]);
  }

  async function batch<T>(calls: readonly RpcCall<T>[], asking: Asking = {}): Promise<readonly Settled<T>[]> {
    const all: Settled<T>[] = [];
    for (const chunk of chunksOf(calls)) all.push(...(await settle(chunk, asking)).settled);
    return all;
  }

  return {
    call,
    ask: (method, params, read, asking) => call(method, params, read, asking).catch(asUnavailable),
    batch,
    async together<T extends readonly unknown[]>(calls: { readonly [K in keyof T]: RpcCall<T[K]> }, asking: Asking = {}) {
      const { settled } = await settle<T[number]>(calls, { ...asking, whole: true });
      return settled.map((answer) => {
        if ('error' in answer) throw nodeUnavailable(answer.error);
        return answer.result;
      }) as readonly unknown[] as T;
    },
    async askHead(method, params, read) {
      const { settled, by } = await settle([{ method, params, read }], { first: 'head' });
      const [answer] = settled;
      if (answer === undefined || 'error' in answer) throw nodeUnavailable(answer?.error);
      const block = answer.result;
      if (by !== null) roster.toldHead(by, block.number);
      return block;
    },
    expectGenesis(hash) {
      genesis = hash;
    },
    foreignGenesis: () => endpoints.map((endpoint) => endpoint.foreignGenesis()).find((hash) => hash !== null) ?? null,
    calls: () => endpoints.map((endpoint) => endpoint.calls()),
    async close() {
      await Promise.all(endpoints.map((endpoint) => endpoint.close()));
    },
  };
}

function resultOf<T>(settled: Settled<T> | undefined): T {
  if (settled !== undefined && 'result' in settled) return settled.result;
  throw settled?.error instanceof NodeError ? settled.error : nodeUnavailable(settled?.error);
}

function asUnavailable(error: unknown): never {
  throw error instanceof NodeError ? nodeUnavailable(error) : error;
}

function chunksOf<T>(calls: readonly RpcCall<T>[]): readonly (readonly RpcCall<T>[])[] {
  const chunks: RpcCall<T>[][] = [];
  let characters = 0;
  for (const call of calls) {
    const length = JSON.stringify(call.params).length;
    const chunk = chunks.at(-1);
    if (chunk === undefined || chunk.length >= greatestBatch || characters + length > greatestBatchCharacters) {
      chunks.push([call]);
      characters = length;
    } else {
      chunk.push(call);
      characters += length;
    }
  }
  return chunks;
}
