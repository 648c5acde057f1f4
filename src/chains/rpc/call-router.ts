import type { Log } from '../../core/work/log.js';
import type { Endpoint } from './endpoint.js';
import type { EndpointSelector } from './endpoint-selector.js';
import { isDue, type RpcCall, type Settled } from './json-rpc.js';
import { type NodeError, TransportError } from './node-error.js';
import type { Given, Route } from './shared-calls.js';

/** How to route calls. */
export interface CallOptions extends Route {
  /**
   * Gets the places of the endpoints whose results and errors are returned, for `otherThan`: the endpoint that goes first may fail, and
   * another one answer. Of several errors, the first about the request is returned, or else the first about a node.
   */
  readonly answeredBy?: Set<number>;
  /** If the endpoint rejects batches, send the calls one after the other. */
  readonly inOrder?: boolean;
  /** Require one endpoint to answer all calls in one request. */
  readonly whole?: boolean;
  /** Send the same calls to one more endpoint and ignore its answers. */
  readonly copied?: boolean;
  /**
   * The call may share a request with other such calls. For short reads that nodes answer at once: those of thousands of accounts then cost
   * few requests. Other calls would wait for the slowest one.
   */
  readonly shared?: boolean;
  /** Decides whether an error concerns the node, so that the next endpoint is tried. Default: `NodeError.isAboutNode`. */
  readonly isAboutNode?: (error: NodeError) => boolean;
}

/** How to route a batch. */
export interface BatchOptions<T> extends CallOptions {
  /**
   * Called for each endpoint that gets calls of the batch, copies included. The answers reject if the endpoint failed, which may still have
   * acted.
   */
  readonly onAsked?: (endpoint: object, calls: readonly RpcCall<T>[], answers: Promise<readonly Settled<T>[]>) => void;
}

const longOutMs = 60_000;

/** Limit of copies in flight, so that they do not pile up at a slow endpoint. */
const maxCopies = 4;

/** Takes calls from endpoint to endpoint until each is answered. */
export interface CallRouter {
  /** Returns the result of each call, and the endpoint that was tried last. Never throws because of a node. */
  settle<T>(
    calls: readonly RpcCall<T>[],
    options: BatchOptions<T>,
  ): Promise<{ readonly settled: readonly Given<T>[]; readonly by: Endpoint | null }>;
}

/** Creates a router over the endpoints of a network. */
export function createCallRouter(
  networkName: string,
  selector: Pick<EndpointSelector, 'order' | 'forkedHosts' | 'blocked'>,
  log: Log,
): CallRouter {
  let copies = 0;

  function unreachableFor(problems: readonly string[]): TransportError {
    const none =
      selector.forkedHosts().length > 0
        ? 'the RPC endpoints that respond are on another branch of the chain than before'
        : 'no RPC endpoint is available';
    return new TransportError(networkName, [...new Set(problems)].join('; ') || none);
  }

  async function settle<T>(calls: readonly RpcCall<T>[], options: BatchOptions<T>) {
    const results = new Map<RpcCall<T>, Given<T>>();
    const empty = new Map<RpcCall<T>, Given<T>>();
    const nodeErrors = new Map<RpcCall<T>, Given<T> & { readonly answer: { readonly error: NodeError } }>();
    const counts = (endpoint: Endpoint): boolean => options.unanimous !== 'in use' || endpoint.trippedForMs() < longOutMs;
    const all = selector.order(options.first);
    const counted = all.filter(counts);
    const order = counted.length > 0 ? counted : all;
    const isAnswer = (call: RpcCall<T>, error: NodeError): boolean =>
      options.isAboutNode !== undefined ? !options.isAboutNode(error) : (call.isAnswer?.(error) ?? !error.isAboutNode);
    if (options.copied === true) copy(calls, order, options);
    const problems: string[] = [];
    let open = calls;
    let by: Endpoint | null = null;
    for (const endpoint of order) {
      // A tripped endpoint may keep the caller waiting: it gets only calls that nothing else answered, not a second opinion.
      if (endpoint.isTripped() && options.unanimous === undefined)
        open = open.filter((call) => !empty.has(call) && nodeErrors.get(call)?.answer.error.isOverload !== false);
      open = open.filter(isDue);
      if (open.length === 0) break;
      by = endpoint;
      const asking = endpoint.ask(open, options.inOrder === true, options.whole);
      options.onAsked?.(endpoint, open, asking);
      const answers = await asking.catch((error: unknown) => {
        if (!(error instanceof TransportError)) throw error;
        problems.push(error.message);
        return null;
      });
      if (answers === null) continue;
      const missing = options.whole === true ? answers.find((answer) => 'error' in answer) : undefined;
      if (missing !== undefined && 'error' in missing) {
        problems.push(missing.error.message);
        continue;
      }
      open.forEach((call, index) => {
        const answer = answers[index];
        if (answer === undefined) return;
        if ('result' in answer) (call.isEmpty?.(answer.result) === true ? empty : results).set(call, { answer, from: endpoint });
        else if (answer.error instanceof TransportError) problems.push(answer.error.message);
        else if (isAnswer(call, answer.error)) results.set(call, { answer, from: endpoint });
        else if (!nodeErrors.has(call) || (nodeErrors.get(call)?.answer.error.isAboutNode === true && !answer.error.isAboutNode))
          nodeErrors.set(call, { answer: { error: answer.error }, from: endpoint });
      });
      open = open.filter((call) => !results.has(call));
    }
    const isWhole = options.unanimous === undefined || (problems.length === 0 && !selector.blocked().some(counts));
    const none = { answer: { error: unreachableFor(problems) }, from: null };
    const settled = calls.map((call): Given<T> => {
      const given = results.get(call);
      if (given !== undefined || !isWhole) return given ?? none;
      const nodeError = nodeErrors.get(call);
      return (nodeError !== undefined && options.unanimous !== undefined ? nodeError : empty.get(call)) ?? nodeError ?? none;
    });
    return { settled, by };
  }

  /** An endpoint that jumps ahead makes others seem to lag, and may keep calls to itself, so these get the copy too. */
  function copy<T>(calls: readonly RpcCall<T>[], order: readonly Endpoint[], { onAsked }: BatchOptions<T>): void {
    const second = order.slice(1).find((one) => !one.isTripped() || one.trippedBy() === 'lagging' || one.trippedBy() === 'ahead');
    if (second === undefined || copies >= maxCopies) return;
    copies += 1;
    const asking = second.ask(calls, true);
    onAsked?.(second, calls, asking);
    asking
      .catch((error: unknown) => {
        // The endpoint's circuit breaker logs transport errors.
        if (!(error instanceof TransportError))
          log.error({ network: networkName, err: error }, 'sending a broadcast to a second RPC endpoint failed unexpectedly');
      })
      .finally(() => {
        copies -= 1;
      });
  }

  return { settle };
}
