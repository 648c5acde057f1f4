import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

/** A received JSON-RPC call. */
export interface AskedCall {
  readonly id: unknown;
  readonly method: string;
  readonly params: readonly unknown[];
}

/** A received request: one call or a batch. */
export interface AskedRequest {
  readonly isBatch: boolean;
  readonly calls: readonly AskedCall[];
  readonly text: string;
}

/** What a fake node does with a request. */
export type FakeAnswer =
  | { readonly status?: number; readonly headers?: Readonly<Record<string, string>>; readonly body: string }
  | 'hang up'
  | 'say nothing';

/** An HTTP server that acts as an RPC node. */
export interface FakeNode {
  readonly url: string;
  readonly host: string;
  /** The called methods in order, also those in batches. */
  readonly methods: string[];
  readonly requests: AskedRequest[];
}

/** Starts a node with the answers of the test. It stops with the test. */
export async function startFakeNode(
  test: TestContext,
  answer: (request: AskedRequest) => FakeAnswer | Promise<FakeAnswer>,
): Promise<FakeNode> {
  const methods: string[] = [];
  const requests: AskedRequest[] = [];
  const server = createServer(async (incoming, response) => {
    let text = '';
    for await (const chunk of incoming) text += chunk;
    const parsed: AskedCall | AskedCall[] = JSON.parse(text);
    const request = { isBatch: Array.isArray(parsed), calls: [parsed].flat(), text };
    methods.push(...request.calls.map(({ method }) => method));
    requests.push(request);
    const told = await answer(request);
    if (told === 'hang up') incoming.socket.destroy();
    else if (told !== 'say nothing') {
      response.writeHead(told.status ?? 200, { 'content-type': 'application/json', ...told.headers }).end(told.body);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  test.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url: `http://${host}`, host, methods, requests };
}

/** A refusal, for `answering`. */
export class FakeError {
  readonly error: object;

  constructor(code: number, message: string, data?: string) {
    this.error = { code, message, ...(data === undefined ? {} : { data }) };
  }
}

/** Answers each call of a request: with a result, or a refusal. The chain id is that of anvil unless `resultOf` gives another. */
export function answering(request: AskedRequest, resultOf: (call: AskedCall) => unknown): FakeAnswer {
  const items = request.calls.map((call) => {
    const result = resultOf(call) ?? (call.method === 'eth_chainId' ? '0x7a69' : null);
    return { jsonrpc: '2.0', id: call.id, ...(result instanceof FakeError ? { error: result.error } : { result }) };
  });
  return { body: JSON.stringify(request.isBatch ? items : items[0]) };
}

/** Returns what the node at `url` answers to this request. */
export async function relayed(url: string, request: AskedRequest): Promise<{ readonly body: string }> {
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: request.text });
  return { body: await response.text() };
}
