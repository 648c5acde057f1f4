import type { buildConnector } from 'undici';
import type { NodeCalls } from '../../core/ports/chain/chain.js';
import type { Telemetry } from '../../core/ports/telemetry.js';
import type { Network, RpcUrl } from '../../core/records/network.js';
import type { CallMark } from '../../core/work/breaker.js';
import type { DurationClock } from '../../core/work/clock.js';
import type { Log } from '../../core/work/log.js';
import { createBatchSender, isAnswered, isEndpointFailure, transportErrorOf } from './batch-sender.js';
import { type CircuitBreaker, createCircuitBreaker } from './circuit-breaker.js';
import { createHttpClient, type HttpClient, type HttpClientOptions, rpcTargetFrom } from './http-client.js';
import { createIdentityCheck, OtherChainError } from './identity-check.js';
import { type BlockId, type NodeDialect, type RpcCall, type Settled, singleBody } from './json-rpc.js';
import type { Position } from './lag-tracker.js';
import { TransportError } from './node-error.js';
import { createWebSocketClient, subscriptionId } from './web-socket-client.js';

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
  /** Opens the way to a URL. Default: HTTP, or a WebSocket if the URL says so. */
  readonly openHttp?: (options: HttpClientOptions) => HttpClient;
  /** Called when a node with a WebSocket URL announces a new head. */
  readonly onNewHead?: (() => void) | undefined;
}

/** One RPC URL of a network. */
export interface Endpoint
  extends Pick<CircuitBreaker, 'isTripped' | 'isProbeDue' | 'isBlocked' | 'trippedBy' | 'trippedForMs' | 'pausedUntilMs' | 'caughtUp'> {
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
  /** Returns its block at this height; null: it shows none, which proves nothing. */
  blockAt(height: bigint): Promise<BlockId | null>;
  /** The genesis hash that it last returned, if it was not the expected one; else null. */
  foreignGenesis(): string | null;
  /** Verifies which chain it serves before the next answer counts. */
  verifyAgain(): void;
  /** How long it has answered nothing that it was asked; 0: it answered the last call. */
  silentForMs(): number;
  /** Removes the endpoint from rotation because its head is far behind, or cannot exist yet. */
  markOff(standing: keyof typeof offDetails): void;
  calls(): NodeCalls;
  close(): Promise<void>;
}

type OptionalOptions = 'connectorFor' | 'openHttp' | 'onNewHead';

/** The options of an endpoint. */
export interface EndpointOptions extends Required<Omit<RpcOptions, 'rpcUrls' | OptionalOptions>>, Pick<RpcOptions, OptionalOptions> {
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
  onNewHead,
}: EndpointOptions): Endpoint {
  const networkName = network.name;
  const target = rpcTargetFrom(url, networkName);
  const { host } = target;
  const responder = { target, dialect, takeIds: target.isSocket ? createIds() : () => 1 };
  const { newHeads } = dialect;
  let silentSinceMs: number | null = null;
  const open = openHttp ?? (target.isSocket ? createWebSocketClient : createHttpClient);
  const client = open({
    target,
    subscription: newHeads && onNewHead && { body: singleBody(newHeads, subscriptionId), onNews: onNewHead },
    networkName,
    timeoutMs: rpcTimeoutMs,
    onLost: () => identity.forget(),
    telemetry,
    connect: connectorFor?.(url.url),
  });
  const breaker = createCircuitBreaker(networkName, host, log, clock.elapsedMs);
  const identity = createIdentityCheck({ networkName, responder, genesisHash, client, breaker, log });
  const { verified } = identity;
  const { send } = createBatchSender({ networkName, responder, client, verified, clock, log });

  /**
   * While a new connection is verified, only questions are sent, whose answers count if it is the right chain: a server may close each idle
   * connection, and each answer may take seconds. A failing endpoint gets no question before it is verified.
   */
  async function sendVerified<T>(calls: readonly RpcCall<T>[], inOrder: boolean, asOne: boolean): Promise<readonly Settled<T>[]> {
    const isHarmless = calls.every(({ isQuestion }) => isQuestion === true) && !breaker.isTripped();
    if (!isHarmless) await verified();
    const [settled] = await Promise.all([send(calls, inOrder, asOne), verified()]);
    return settled;
  }

  async function ask<T>(calls: readonly RpcCall<T>[], inOrder: boolean, asOne = false): Promise<readonly Settled<T>[]> {
    if (breaker.isBlocked()) throw new TransportError(host, 'not used: it serves another chain or asked for a pause');
    const mark = breaker.begin();
    try {
      const settled = await sendVerified(calls, inOrder, asOne);
      const failure = settled.find(isEndpointFailure);
      if (failure === undefined && !settled.some(isAnswered)) return settled;
      if (failure === undefined) {
        breaker.worked(mark);
        silentSinceMs = null;
      } else recordFailure(`${host}: ${failure.error.message}`, null, mark);
      return settled;
    } catch (error) {
      if (error instanceof TransportError && !(error instanceof OtherChainError)) recordFailure(error.message, error.retryAfterMs, mark);
      throw error;
    }
  }

  function recordFailure(detail: string, retryAfterMs: number | null, mark: CallMark): void {
    identity.forget();
    silentSinceMs ??= clock.elapsedMs();
    breaker.failed({ kind: 'failing', detail, retryAfterMs }, mark);
  }

  return {
    ...breaker,
    weight: url.weight,
    host,
    ask,
    async blockAt(height) {
      const call = dialect.blockAt?.(height) ?? null;
      if (call === null || breaker.isBlocked()) return null;
      const [settled] = await ask([call], true).catch((error: unknown) => [transportErrorOf(error)]);
      return settled !== undefined && 'result' in settled ? settled.result : null;
    },
    async position() {
      const [settled] = await ask([dialect.position], true);
      if (settled !== undefined && 'result' in settled) return settled.result;
      throw new TransportError(host, `did not return its newest block: ${settled?.error.message}`);
    },
    foreignGenesis: identity.foreignGenesis,
    verifyAgain: identity.forget,
    silentForMs: () => (silentSinceMs === null ? 0 : clock.elapsedMs() - silentSinceMs),
    markOff: (standing) =>
      breaker.failed({ kind: standing === 'behind' ? 'lagging' : 'ahead', detail: offDetails[standing] }, breaker.begin()),
    calls: client.calls,
    close: client.close,
  };
}

const offDetails = {
  behind: 'its newest block is several blocks behind',
  ahead: 'its newest block is further ahead of the other endpoints than the chain can have grown',
  contradictory: 'it shows its newest block at another height than before',
};

/** On a WebSocket only the IDs say which request an answer belongs to. */
function createIds(): (count: number) => number {
  let next = subscriptionId + 1;
  return (count) => {
    next += count;
    return next - count;
  };
}
