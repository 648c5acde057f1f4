import { DomainError } from '../../core/errors/errors.js';
import type { Chain } from '../../core/ports/chain/chain.js';
import type { ForwardedAnswer } from '../../core/ports/chain/requests.js';
import { type BlockMemory, createBlockMemory } from '../../core/work/block-memory.js';
import { memberText } from '../../json/json-reader.js';
import type { RpcOptions } from './endpoint.js';
import type { NodeDialect } from './json-rpc.js';
import { MalformedAnswerError, NodeError, nodeUnavailable } from './node-error.js';
import { createRpc, type Rpc } from './rpc.js';

/** The RPC nodes of a network, as a chain uses them. */
export interface Nodes {
  readonly rpc: Rpc;
  readonly memory: BlockMemory;
  /** The methods of `Chain` that are the same on every network. */
  readonly methods: Pick<Chain, 'expectGenesis' | 'foreignGenesis' | 'forkedHosts' | 'endpoints' | 'forward' | 'calls' | 'close'> &
    Required<Pick<Chain, 'onNewHead'>>;
}

/** Maximum number of forwarded calls in flight per network: an answer may be large. */
const maxForwarded = 16;

/** Bounds the age of remembered answers when nothing watches the head. */
const maxMemoryMs = 3_000;
const minMemoryMs = 200;

/** Opens the nodes of a network; sends nothing yet. `memoryBlocks`: block times after which a remembered answer is stale at the latest. */
export function createNodes(options: RpcOptions, dialect: NodeDialect, memoryBlocks = 0.5): Nodes {
  let noteNewHead = (): void => {};
  const rpc = createRpc({ ...options, onNewHead: () => noteNewHead() }, dialect);
  const memoryMs = memoryBlocks * options.network.averageBlockTimeMs;
  const memory = createBlockMemory(Math.min(maxMemoryMs, Math.max(minMemoryMs, memoryMs)), options.clock?.elapsedMs);
  // Forwarded calls have connections and circuit breakers of their own: a caller's call may overload a node, and that must not make the
  // service stop using the node.
  const forwardingRpc = createRpc(options, dialect);
  let forwarded = 0;

  async function forward(method: string, paramsJson: string | null): Promise<ForwardedAnswer> {
    if (forwarded >= maxForwarded) {
      const message = `too many forwarded RPC calls in flight to this network (limit ${maxForwarded}); retry later`;
      throw new DomainError('unavailable', 'SERVICE_UNAVAILABLE', message, { metadata: { limit: String(maxForwarded) } });
    }
    forwarded += 1;
    try {
      const call = { method, params: null, ...(paramsJson === null ? {} : { paramsJson }), read: forwardedAnswerFrom };
      const [settled] = await forwardingRpc.batch([call]);
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
        rpc.expectGenesis(hash);
        forwardingRpc.expectGenesis(hash);
      },
      foreignGenesis: rpc.foreignGenesis,
      forkedHosts: rpc.forkedHosts,
      endpoints: rpc.endpoints,
      forward,
      onNewHead(listener) {
        noteNewHead = listener;
      },
      calls: rpc.calls,
      close: async () => void (await Promise.all([rpc.close(), forwardingRpc.close()])),
    },
  };
}

function forwardedAnswerFrom(_result: unknown, responseText: string | null): ForwardedAnswer {
  const resultJson = responseText === null ? null : memberText(responseText, 'result');
  if (resultJson === null) throw new MalformedAnswerError('answer');
  return { resultJson };
}
