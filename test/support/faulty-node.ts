import { type Ask, type RequestFate, type RpcAnswer, type RpcCall, type RpcProxy, startRpcProxy } from './rpc-proxy.js';
import type { Random } from './seeded-random.js';
import { sendStrictly } from './strict-pool.js';

/** How often a node misbehaves: probabilities, 0 to 1. */
export interface NodeFaults {
  /** Of requests: the node acts, the answer never comes. */
  readonly lost: number;
  /** Of requests: the node acts, the answer comes after the caller's time limit. */
  readonly late: number;
  /** Of requests: 429 or 502 at once. */
  readonly refused: number;
  /** Of calls: answered with a JSON-RPC error that speaks of a limit. */
  readonly limited: number;
  /** Of calls: answered from some blocks ago. */
  readonly stale: number;
  /** Of broadcasts that the node accepted: "already known", as an error. */
  readonly alreadyKnown: number;
}

/** The node behind the faults and its caller. */
export interface FaultyNodeOptions {
  /** URL of the real node. */
  readonly target: string;
  readonly random: Random;
  readonly faults: NodeFaults;
  /** The caller's own limit, which late answers pass. */
  readonly callerTimeoutMs: number;
  /** How many blocks a stale answer may be behind; at least 1. */
  readonly greatestLag: number;
}

/** A node with random faults. */
export interface FaultyNode extends RpcProxy {
  /** The number of faults by name. */
  readonly counts: Readonly<Record<keyof NodeFaults, number>>;
}

/** Starts a proxy of a real node that fails at random and applies reth's strict rule for replacements. */
export async function startFaultyNode(options: FaultyNodeOptions): Promise<FaultyNode> {
  const { random, faults, callerTimeoutMs, greatestLag } = options;
  const counts = { lost: 0, late: 0, refused: 0, limited: 0, stale: 0, alreadyKnown: 0 };

  function strikes(fault: keyof NodeFaults): boolean {
    if (!random.chance(faults[fault])) return false;
    counts[fault] += 1;
    return true;
  }

  function outcomeOf(): RequestFate {
    if (strikes('refused')) return { refusedWith: random.chance(0.5) ? 429 : 502 };
    if (strikes('lost')) return { answerIsLost: true };
    if (strikes('late')) return { heldForMs: callerTimeoutMs + random.between(100, callerTimeoutMs) };
    return {};
  }

  async function answer(call: RpcCall, ask: Ask, isInBatch: boolean): Promise<RpcAnswer> {
    // In a batch a call can also go unanswered by itself.
    if (isInBatch && strikes('lost')) return (await act(call, ask)) && null;
    if (strikes('limited')) return { error: { code: -32005, message: 'daily request count exceeded, request rate limited' } };
    return await act(call, ask);
  }

  async function act(call: RpcCall, ask: Ask): Promise<Exclude<RpcAnswer, null>> {
    if (call.method === 'eth_sendRawTransaction') {
      const taken = await sendStrictly(call, ask);
      return 'result' in taken && strikes('alreadyKnown') ? { error: { code: -32000, message: 'already known' } } : taken;
    }
    return isAboutHead(call) && strikes('stale') ? await askBehind(call, ask, random.between(1, greatestLag)) : await ask(call);
  }

  return { ...(await startRpcProxy({ target: options.target, answer, outcomeOf })), counts };
}

const headMethods = [
  'eth_blockNumber',
  'eth_getBlockByNumber',
  'eth_getBlockReceipts',
  'eth_getTransactionCount',
  'eth_getTransactionReceipt',
  'eth_getTransactionByHash',
  'eth_getBalance',
  'eth_feeHistory',
];

function isAboutHead({ method }: RpcCall): boolean {
  return headMethods.includes(method);
}

/** Answers like a node that is some blocks behind: it knows no newer block and no transaction in one. */
async function askBehind({ method, params }: RpcCall, ask: Ask, lag: number): Promise<Exclude<RpcAnswer, null>> {
  const height = await ask({ method: 'eth_blockNumber', params: [] });
  if ('error' in height) return height;
  const known = Math.max(0, Number(height.result) - lag);
  const tag = `0x${known.toString(16)}`;
  switch (method) {
    case 'eth_blockNumber':
      return { result: tag };
    case 'eth_getBlockByNumber':
    case 'eth_getBlockReceipts': {
      const [block, ...rest] = params;
      if (!String(block).startsWith('0x')) return ask({ method, params: [tag, ...rest] });
      return Number(block) > known ? { result: null } : ask({ method, params });
    }
    case 'eth_getTransactionCount':
    case 'eth_getBalance':
      return ask({ method, params: [params[0], tag] });
    case 'eth_feeHistory':
      return ask({ method, params: [params[0], tag, params[2]] });
    default: {
      const answer = await ask({ method, params });
      const found = 'result' in answer ? (answer.result as { readonly blockNumber: string | null } | null) : null;
      return found !== null && found.blockNumber !== null && Number(found.blockNumber) > known ? { result: null } : answer;
    }
  }
}
