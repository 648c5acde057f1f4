import { DomainError } from '../../core/errors.js';
import type { Chain, ForwardedAnswer } from '../../core/ports/chain.js';
import type { Log } from '../../core/ports/log.js';
import { noTelemetry, type Telemetry } from '../../core/ports/telemetry.js';
import type { Network, RpcUrl } from '../../core/relayer/network.js';
import { memberJson } from '../../json/member-json.js';
import { type BlockMemory, createBlockMemory } from './block-memory.js';
import type { NodeDialect } from './dialect.js';
import { MalformedAnswerError, NodeError, nodeUnavailable } from './node-error.js';
import { createRpc, type Rpc, type RpcOptions } from './rpc.js';

/** What a chain is opened with. */
export interface NodesOptions<N extends Network = Network> {
  readonly network: N;
  /** The relayer's own RPC URLs, or the network's. */
  readonly rpcUrls: readonly RpcUrl[];
  /** Limit for one request to one URL. */
  readonly rpcTimeoutMs: number;
  readonly log: Log;
  readonly telemetry?: Telemetry;
}

/** The RPC nodes of a network, as a chain uses them. */
export interface Nodes {
  readonly rpc: Rpc;
  readonly memory: BlockMemory;
  /** The methods of `Chain` that are the same on every network. */
  readonly methods: Pick<Chain, 'expectGenesis' | 'foreignGenesis' | 'forward' | 'calls' | 'close'>;
}

/** Maximum number of forwarded calls in flight per network: an answer may be large. */
const maxForwarded = 16;

/** Bounds the age of remembered answers when nothing watches the head. */
const maxMemoryMs = 3_000;
const minMemoryMs = 200;

/** Opens the nodes of a network; sends nothing yet. `memoryBlocks`: block times after which a remembered answer is stale at the latest. */
export function createNodes(options: NodesOptions, dialect: NodeDialect, memoryBlocks = 0.5): Nodes {
  const { network, rpcUrls, rpcTimeoutMs, log, telemetry = noTelemetry } = options;
  const { name: networkName, averageBlockTimeMs } = network;
  const rpcOptions: RpcOptions = { dialect, networkName, averageBlockTimeMs, urls: rpcUrls, timeoutMs: rpcTimeoutMs, log, telemetry };
  const rpc = createRpc(rpcOptions);
  const memory = createBlockMemory(Math.min(maxMemoryMs, Math.max(minMemoryMs, memoryBlocks * averageBlockTimeMs)));
  let genesis: string | null = null;
  let forwardingRpc: Rpc | null = null;
  let forwarded = 0;

  /**
   * Forwarded calls have connections and circuit breakers of their own, opened with the first call: a caller's call may overload a node, and that must
   * not make the service stop using the node.
   */
  function rpcForForwarding(): Rpc {
    forwardingRpc ??= createRpc(rpcOptions);
    if (genesis !== null) forwardingRpc.expectGenesis(genesis);
    return forwardingRpc;
  }

  async function forward(method: string, paramsJson: string | null): Promise<ForwardedAnswer> {
    if (forwarded >= maxForwarded) {
      throw new DomainError(
        'unavailable',
        'SERVICE_UNAVAILABLE',
        `too many forwarded RPC calls to this network: at most ${maxForwarded} at a time; retry later`,
      );
    }
    forwarded += 1;
    try {
      const call = { method, params: null, ...(paramsJson === null ? {} : { paramsJson }), read: forwardedAnswerFrom };
      const [settled] = await rpcForForwarding().batch([call]);
      if (settled !== undefined && 'result' in settled) return settled.result;
      if (!(settled?.error instanceof NodeError)) throw nodeUnavailable(settled?.error);
      const { code, message, dataJson } = settled.error;
      return { code, message, dataJson };
    } finally {
      forwarded -= 1;
    }
  }

  return {
    rpc,
    memory,
    methods: {
      expectGenesis(hash) {
        genesis = hash;
        rpc.expectGenesis(hash);
        forwardingRpc?.expectGenesis(hash);
      },
      foreignGenesis: () => rpc.foreignGenesis(),
      forward,
      calls() {
        const hosts = rpc.calls();
        return { http: hosts.reduce((sum, { http }) => sum + http, 0), items: hosts.reduce((sum, { items }) => sum + items, 0) };
      },
      async close() {
        await Promise.all([rpc.close(), forwardingRpc?.close()]);
      },
    },
  };
}

function forwardedAnswerFrom(_result: unknown, answerText: string | null): ForwardedAnswer {
  const resultJson = answerText === null ? null : memberJson(answerText, 'result');
  if (resultJson === null) throw new MalformedAnswerError('answer');
  return { resultJson };
}
