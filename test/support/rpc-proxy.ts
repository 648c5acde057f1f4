import { once, setMaxListeners } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** A JSON-RPC call. */
export interface RpcCall {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** The answer to one call; null: none at all (the connection ends, or the batch lacks it). */
export type RpcAnswer =
  | { readonly result: unknown }
  | { readonly error: { readonly code: number; readonly message: string; readonly data?: unknown } }
  | null;

/** The handling of a whole HTTP request, a single call or a batch. */
export interface RequestFate {
  /** Answered at once with this HTTP status; the node never sees it. */
  readonly refusedWith?: number;
  /** The node acts, and the connection ends without an answer. */
  readonly answerIsLost?: boolean;
  /** The node acts, and the answer is held back for so long. */
  readonly heldForMs?: number;
}

/** How a proxy behaves. */
export interface RpcProxyOptions {
  /** URL of the real node. */
  readonly target: string;
  /** Answers one call; `ask` asks the real node. Absent: as the node does. */
  readonly answer?: (call: RpcCall, ask: Ask, isInBatch: boolean) => Promise<RpcAnswer>;
  /** Absent: every request is answered. */
  readonly outcomeOf?: (calls: readonly RpcCall[]) => RequestFate;
}

/** Asks the real node. */
export type Ask = (call: RpcCall) => Promise<Exclude<RpcAnswer, null>>;

/** A node behind an HTTP proxy. */
export interface RpcProxy {
  readonly url: string;
  stop(): Promise<void>;
}

/** The id of a call may have any type; the answer repeats it. */
interface IncomingCall extends RpcCall {
  readonly id: unknown;
}

/** Starts an HTTP JSON-RPC proxy, batches included, on a free loopback port. */
export async function startRpcProxy({ target, answer, outcomeOf }: RpcProxyOptions): Promise<RpcProxy> {
  const ask: Ask = async ({ method, params }) => {
    const response = await fetch(target, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    const { result, error } = (await response.json()) as { result?: unknown; error?: { code: number; message: string } };
    return error === undefined ? { result } : { error };
  };
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal);

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = JSON.parse(await textOf(incoming)) as IncomingCall | readonly IncomingCall[];
    const isBatch = Array.isArray(body);
    const calls = (isBatch ? body : [body]) as readonly IncomingCall[];
    const outcome = outcomeOf?.(calls) ?? {};
    if (outcome.refusedWith !== undefined) {
      response.writeHead(outcome.refusedWith, { 'content-type': 'text/plain' }).end('the node is busy');
      return;
    }
    const answered: object[] = [];
    // One after the other, as nodes do: an answer may depend on what an earlier call of the batch did.
    for (const call of calls) {
      const given = answer === undefined ? await ask(call) : await answer(call, ask, isBatch);
      if (given !== null) answered.push({ jsonrpc: '2.0', id: call.id, ...given });
    }
    if (outcome.heldForMs !== undefined) await delay(outcome.heldForMs, undefined, { signal: stopping.signal });
    if (outcome.answerIsLost === true || answered.length === 0) {
      incoming.socket.destroy();
      return;
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(isBatch ? answered : answered[0]));
  }

  const server = createServer((incoming, response) => {
    // The real node or the caller is gone, so there is no answer.
    serve(incoming, response).catch(() => incoming.socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      stopping.abort();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
