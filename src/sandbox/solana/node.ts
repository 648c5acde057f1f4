import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { SolanaChain } from './chain.js';
import { exactJson } from './exact-json.js';
import { createMethods, type Methods, type NodeCondition, wellConditioned } from './methods.js';
import { RpcError } from './rpc-error.js';

/** A fault of a call. */
export type Fault =
  /** The node acts, but the connection ends without an answer. */
  | 'answer_lost'
  /** The connection ends before the node acts. */
  | 'request_lost'
  /** HTTP 429. */
  | 'rate_limited'
  /** The node acts at once but answers when this resolves. */
  | { readonly heldUntil: Promise<unknown> }
  /** The node answers with this JSON-RPC error instead of acting. */
  | { readonly error: { readonly code: number; readonly message: string; readonly data?: unknown } };

/** A node of the cluster on a port. */
export interface SolanaNode {
  readonly url: string;
  readonly port: number;
  /** How the node sees and serves the chain; tests change it. */
  readonly condition: NodeCondition;
  /** Returns the number of calls per method, including faulty ones. */
  readonly calls: ReadonlyMap<string, number>;
  /** Makes the next calls of a method (`*` for any) fail; default once. */
  fail(method: string, fault: Fault, times?: number): void;
  /** Removes all faults; the condition stays. */
  heal(): void;
  stop(): Promise<void>;
}

/** The options of a node. */
export interface SolanaNodeOptions {
  readonly chain: SolanaChain;
  /** Sends lamports to an address and returns the signature. */
  readonly airdrop: (address: string, lamports: bigint) => Promise<string>;
  /** 0 or absent for a free port. */
  readonly port?: number;
  /** Actions by GET path; each answers with its text. */
  readonly commands?: Readonly<Record<string, () => Promise<string>>>;
}

interface IncomingCall {
  readonly jsonrpc?: unknown;
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: unknown;
}

/** Ends the connection without an answer. */
class NoAnswer extends Error {}
/** The node answers 429. */
class RateLimited extends Error {}

/** Starts a node on a loopback port. */
export async function startSolanaNode({ chain, airdrop, port = 0, commands = {} }: SolanaNodeOptions): Promise<SolanaNode> {
  const condition: NodeCondition = { ...wellConditioned };
  const methods: Methods = createMethods(chain, condition, airdrop);
  const calls = new Map<string, number>();
  let faults: { readonly method: string; readonly fault: Fault; times: number }[] = [];

  function faultOf(method: string): Fault | undefined {
    const planned = faults.find((entry) => entry.method === method || entry.method === '*');
    if (planned === undefined) return undefined;
    planned.times -= 1;
    faults = faults.filter(({ times }) => times > 0);
    return planned.fault;
  }

  async function resultOf(name: unknown, params: unknown): Promise<unknown> {
    const method = typeof name === 'string' && Object.hasOwn(methods, name) ? methods[name] : undefined;
    if (method === undefined) throw new RpcError(-32601, 'Method not found');
    if (params !== undefined && !Array.isArray(params)) throw new RpcError(-32602, '`params` should be an array');
    return method(params ?? []);
  }

  async function answerTo({ id = null, method, params }: IncomingCall): Promise<object> {
    const name = String(method);
    calls.set(name, (calls.get(name) ?? 0) + 1);
    const fault = faultOf(name);
    if (fault === 'request_lost') throw new NoAnswer();
    if (fault === 'rate_limited') throw new RateLimited();
    try {
      if (typeof fault === 'object' && 'error' in fault) throw new RpcError(fault.error.code, fault.error.message, fault.error.data);
      const result = await resultOf(method, params);
      if (fault === 'answer_lost') throw new NoAnswer();
      if (typeof fault === 'object') await fault.heldUntil;
      return { jsonrpc: '2.0', result, id };
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      const { code, message, data } = error;
      return { jsonrpc: '2.0', error: { code, message, ...(data === undefined ? {} : { data }) }, id };
    }
  }

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const command = incoming.method === 'GET' ? commands[incoming.url ?? ''] : undefined;
    if (command !== undefined) {
      response.end(`${await command()}\n`);
      return;
    }
    const text = await textOf(incoming);
    let body: IncomingCall | readonly IncomingCall[];
    try {
      body = JSON.parse(text);
    } catch {
      return reply(response, 200, { jsonrpc: '2.0', error: { code: -32700, message: 'Parse error' }, id: null });
    }
    try {
      const answers = await Promise.all((Array.isArray(body) ? body : [body]).map(answerTo));
      reply(response, 200, Array.isArray(body) ? answers : answers[0]);
    } catch (error) {
      if (!(error instanceof RateLimited)) throw error;
      response.setHeader('retry-after', '1');
      const tooMany = { code: 429, message: 'Too many requests for a specific RPC call' };
      reply(response, 429, { jsonrpc: '2.0', error: tooMany, id: Array.isArray(body) ? null : ((body as IncomingCall).id ?? null) });
    }
  }

  const server = createServer((incoming, response) => {
    // Either the fault wants no answer, or the caller is gone.
    serve(incoming, response).catch(() => incoming.socket.destroy());
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const listening = (server.address() as AddressInfo).port;
  return {
    url: `http://127.0.0.1:${listening}`,
    port: listening,
    condition,
    calls,
    fail(method, fault, times = 1) {
      faults.push({ method, fault, times });
    },
    heal() {
      faults = [];
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(exactJson(body));
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
