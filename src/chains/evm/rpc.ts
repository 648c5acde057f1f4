import type { Log } from '../../core/ports/log.js';
import type { RpcUrl } from '../../core/relayer/network.js';
import { createEndpoint } from './endpoint.js';
import { NodeError, nodeUnavailable, TransportError } from './node-error.js';

/** Asks a network's nodes. */
export interface Rpc {
  /** The result of the first URL that answers. Throws `NodeError` for a node's refusal, `NODE_UNAVAILABLE` when none can be asked. */
  call(method: string, params: readonly unknown[]): Promise<unknown>;
  /** The same for what no node has a reason to refuse: a refusal, too, is `NODE_UNAVAILABLE`. */
  ask(method: string, params: readonly unknown[]): Promise<unknown>;
  close(): Promise<void>;
}

/** What the client needs. */
export interface RpcOptions {
  readonly chainId: bigint;
  readonly networkName: string;
  /** Those of weight 0 are not used. */
  readonly urls: readonly RpcUrl[];
  /** For one call to one URL. */
  readonly timeoutMs: number;
  readonly log: Log;
}

/**
 * JSON-RPC with plain failover: the greatest weight first, those that failed a moment ago last. One preferred node, not a spread over all,
 * because answers of one node agree with one another.
 */
export function createRpc({ chainId, networkName, urls, timeoutMs, log }: RpcOptions): Rpc {
  const endpoints = urls
    .filter((url) => url.weight > 0)
    .toSorted((a, b) => b.weight - a.weight)
    .map(({ url }) => createEndpoint({ url, chainId, networkName, timeoutMs, log }));

  return {
    call,
    async ask(method, params) {
      try {
        return await call(method, params);
      } catch (error) {
        throw error instanceof NodeError ? nodeUnavailable(error) : error;
      }
    },
    async close() {
      await Promise.all(endpoints.map((endpoint) => endpoint.close()));
    },
  };

  async function call(method: string, params: readonly unknown[]): Promise<unknown> {
    const troubles: TransportError[] = [];
    let refusal: NodeError | null = null;
    for (const endpoint of endpoints.toSorted((a, b) => Number(a.isResting()) - Number(b.isResting()))) {
      try {
        return await endpoint.call(method, params);
      } catch (error) {
        if (error instanceof TransportError) troubles.push(error);
        else if (error instanceof NodeError && error.busy) refusal = error;
        else throw error;
      }
    }
    if (refusal !== null) throw refusal;
    throw nodeUnavailable(new Error(troubles.map(({ message }) => message).join('; ') || 'no RPC URL has a weight above 0'));
  }
}
