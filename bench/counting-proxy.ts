import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent, request } from 'undici';

/** A proxy in front of a node that counts the requests of the service. */
export interface CountingProxy {
  readonly url: string;
  requests(): number;
  /** Those for the head alone, which the service reads by time, not by blocks. */
  looks(): number;
  /** Counts by the method of the first call of each request. */
  byMethod(): ReadonlyMap<string, number>;
  stop(): Promise<void>;
}

/** Starts a proxy on a free port. */
export async function startCountingProxy(nodeUrl: string): Promise<CountingProxy> {
  let requests = 0;
  let looks = 0;
  const byMethod = new Map<string, number>();
  const toNode = new Agent({ connections: 64 });
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const body = Buffer.concat(chunks);
      requests += 1;
      const method = /"method":"([^"]+)"/.exec(body.toString('latin1', 0, 100))?.[1] ?? 'none';
      byMethod.set(method, (byMethod.get(method) ?? 0) + 1);
      if (method === 'eth_getBlockByNumber' && body.includes('"latest",false') && body[0] === 0x7b) looks += 1;
      request(nodeUrl, { dispatcher: toNode, method: 'POST', headers: { 'content-type': 'application/json' }, body })
        .then(async (answer) =>
          outgoing.writeHead(answer.statusCode, { 'content-type': 'application/json' }).end(Buffer.from(await answer.body.arrayBuffer())),
        )
        .catch(() => outgoing.destroy());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: () => requests,
    looks: () => looks,
    byMethod: () => byMethod,
    async stop() {
      server.close();
      server.closeAllConnections();
      await toNode.close();
    },
  };
}
