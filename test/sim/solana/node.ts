import type { SolanaChain } from '../../../src/sandbox/solana/chain.js';
import { exactJson } from '../../../src/sandbox/solana/exact-json.js';
import { createMethods, type Methods, type NodeCondition, wellConditioned } from '../../../src/sandbox/solana/methods.js';
import { RpcError } from '../../../src/sandbox/solana/rpc-error.js';

/** A node behind a URL. */
interface Backend {
  readonly condition: NodeCondition;
  readonly methods: Methods;
}

/** A URL with one or two nodes behind it. */
export interface Gateway {
  readonly name: string;
  /** How its nodes see and serve the chain. */
  readonly conditions: readonly NodeCondition[];
  /** True if each request, or each call of a batch, may meet another node. */
  splits: 'nothing' | 'requests' | 'calls';
  refusesBatches: boolean;
  /** By how much it numbers all slots and block heights wrongly. */
  shift: bigint;
  /** Answers a request's body. */
  answer(body: string): string;
}

interface Call {
  readonly id: unknown;
  readonly method: string;
  readonly params?: readonly unknown[];
}

/** What a gateway needs. */
export interface GatewayOptions {
  readonly name: string;
  readonly chain: SolanaChain;
  /** The cluster that its nodes serve in place of the true one, in good condition; null: they serve the true one. */
  other(): SolanaChain | null;
  readonly nodeCount: number;
  /** The blocks whose statuses its nodes know without history. */
  readonly recentBlocks: number;
  /** Chooses one of this many nodes. */
  pick(count: number): number;
  /** Called before a node acts on these signed bytes (base64). True: nothing gets them now. */
  withheld(transaction: string): boolean;
}

/** Makes a gateway whose nodes are in good condition. */
export function createGateway({ name, chain, other, nodeCount, recentBlocks, pick, withheld }: GatewayOptions): Gateway {
  const airdrop = (): never => {
    throw new RpcError(-32601, 'Method not found');
  };
  const backends = Array.from({ length: nodeCount }, () => serving(chain));

  function serving(chain: SolanaChain): Backend {
    const condition: NodeCondition = { ...wellConditioned, recentBlocks };
    return { condition, methods: createMethods(chain, condition, airdrop) };
  }

  function choose(): Backend {
    const another = other();
    if (another !== null) return serving(another);
    const backend = backends[gateway.splits === 'nothing' ? 0 : pick(backends.length)];
    if (backend === undefined) throw new Error('a gateway has a node');
    return backend;
  }

  function answerOne({ id, method, params = [] }: Call, { condition, methods }: Backend): object {
    const run = Object.hasOwn(methods, method) ? methods[method] : undefined;
    const before = condition.forwardsNothing;
    try {
      if (run === undefined) throw new RpcError(-32601, 'Method not found');
      if (method === 'sendTransaction' && withheld(String(params[0]))) condition.forwardsNothing = true;
      const { shift } = gateway;
      const result = run(renumbered(params, -shift) as readonly unknown[]);
      return { jsonrpc: '2.0', result: renumbered(result, shift, method), id };
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      const { code, message, data } = error;
      return { jsonrpc: '2.0', error: { code, message, ...(data === undefined ? {} : { data }) }, id };
    } finally {
      condition.forwardsNothing = before;
    }
  }

  const gateway: Gateway = {
    name,
    conditions: backends.map(({ condition }) => condition),
    splits: 'nothing',
    refusesBatches: false,
    shift: 0n,
    answer(body) {
      const request: Call | readonly Call[] = JSON.parse(body);
      const backend = choose();
      if (!Array.isArray(request)) return exactJson(answerOne(request as Call, backend));
      if (gateway.refusesBatches)
        return exactJson({ jsonrpc: '2.0', error: { code: -32600, message: 'batch requests are not supported' }, id: null });
      return exactJson(request.map((call) => answerOne(call, gateway.splits === 'calls' ? choose() : backend)));
    },
  };
  return gateway;
}

/** Members that are slots or block heights, and the methods whose answers are. */
const positions: ReadonlySet<string> = new Set([
  ...['slot', 'absoluteSlot', 'blockHeight', 'parentSlot', 'lastValidBlockHeight', 'minContextSlot'],
  ...['getSlot', 'getBlockHeight', 'getFirstAvailableBlock', 'getBlocksWithLimit', 'getBlock'],
]);

/** The value with every slot and block height in it moved by this. A number among parameters is a slot. */
function renumbered(value: unknown, shift: bigint, name = 'slot'): unknown {
  if (shift === 0n) return value;
  if (Array.isArray(value)) return value.map((one) => renumbered(one, shift, typeof one === 'object' ? '' : name));
  if (typeof value === 'bigint' && positions.has(name)) return value + shift < 0n ? 0n : value + shift;
  if (typeof value === 'number' && positions.has(name)) return Math.max(0, value + Number(shift));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, renumbered(member, shift, key)]));
}
