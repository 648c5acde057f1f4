import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A received request. */
export interface ReceivedRequest {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  /** The exact bytes. */
  readonly body: Buffer;
  /** The sender's port: the same for requests of one connection. */
  readonly port: number | undefined;
}

/** An HTTP server that keeps the requests that it received. */
export interface HttpReceiver {
  readonly port: number;
  readonly requests: readonly ReceivedRequest[];
  /** `http://127.0.0.1:<port><path>`. */
  url(path: string): string;
}

/** Starts a receiver on a free loopback port. It stops with the test. `answer` ends the response, now or later. */
export async function startHttpReceiver(
  test: { after(release: () => void): void },
  answer: (response: ServerResponse, request: ReceivedRequest) => void,
): Promise<HttpReceiver> {
  const requests: ReceivedRequest[] = [];
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const { method, url: path, headers } = incoming;
    const request = { method, path, headers, body: Buffer.concat(chunks), port: incoming.socket.remotePort };
    requests.push(request);
    answer(response, request);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  test.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { port, requests, url: (path) => `http://127.0.0.1:${port}${path}` };
}
