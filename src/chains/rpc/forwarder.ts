import { DomainError } from '../../core/errors.js';
import type { ForwardedAnswer } from '../../core/ports/chain.js';
import { memberJson } from '../../json/member-json.js';
import { MalformedAnswerError, NodeError, nodeUnavailable } from './node-error.js';
import { createRpc, type Rpc, type RpcOptions } from './rpc.js';

/** Asks a network's nodes what callers want to know. */
export interface Forwarder {
  /**
   * What one node says to this question; `paramsJson` is an array or an object, null: none is sent. Throws `NODE_UNAVAILABLE` when none can
   * be asked, `SERVICE_UNAVAILABLE` while too many questions are under way.
   */
  forward(method: string, paramsJson: string | null): Promise<ForwardedAnswer>;
  /** From now on only nodes with this genesis are asked. */
  expectGenesis(hash: string): void;
  close(): Promise<void>;
}

/** Questions of callers under way to one network: an answer may be large. */
const greatestUnderWay = 16;

/**
 * Makes the forwarder, with connections and a memory of failures of its own, opened at the first question: what a caller asks may be too
 * much for a node, and must not make the service turn away from it.
 */
export function createForwarder(options: RpcOptions): Forwarder {
  let rpc: Rpc | null = null;
  let genesis: string | null = null;
  let underWay = 0;

  function opened(): Rpc {
    rpc ??= createRpc(options);
    if (genesis !== null) rpc.expectGenesis(genesis);
    return rpc;
  }

  return {
    async forward(method, paramsJson) {
      if (underWay >= greatestUnderWay) {
        throw new DomainError('unavailable', 'SERVICE_UNAVAILABLE', 'too many questions to this network are under way; ask again later');
      }
      underWay += 1;
      try {
        const [settled] = await opened().batch([
          { method, params: null, ...(paramsJson === null ? {} : { paramsJson }), read: answerFrom },
        ]);
        if (settled !== undefined && 'result' in settled) return settled.result;
        if (!(settled?.error instanceof NodeError)) throw nodeUnavailable(settled?.error);
        const { code, message, dataJson } = settled.error;
        return { code, message, dataJson };
      } finally {
        underWay -= 1;
      }
    },
    expectGenesis(hash) {
      genesis = hash;
      rpc?.expectGenesis(hash);
    },
    close: async () => rpc?.close(),
  };
}

function answerFrom(_result: unknown, answerText: string | null): ForwardedAnswer {
  const resultJson = answerText === null ? null : memberJson(answerText, 'result');
  if (resultJson === null) throw new MalformedAnswerError('answer');
  return { resultJson };
}
