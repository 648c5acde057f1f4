import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP load balancer, as HAProxy with `GET /api/v1/ready` as its check. */
export interface Balancer {
  readonly baseUrl: string;
  stop(): Promise<void>;
}

const checkEveryMs = 50;
/** An instance that does not answer the check in this time counts as down, and its connections are cut. */
const checkTimeoutMs = 700;

/** Starts the balancer for the services at these ports. New connections go to those that are ready in turn; without any they are closed. */
export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  const connections = new Map(ports.map((port) => [port, new Set<Socket>()]));
  const ready = new Set<number>();
  const stopping = new AbortController();
  let turn = 0;

  async function check(port: number): Promise<void> {
    while (!stopping.signal.aborted) {
      const isReady = await fetch(`http://127.0.0.1:${port}/api/v1/ready`, { signal: AbortSignal.timeout(checkTimeoutMs) }).then(
        ({ status }) => status === 200,
        () => false,
      );
      if (isReady) ready.add(port);
      else if (ready.delete(port)) for (const socket of connections.get(port) ?? []) socket.destroy();
      await new Promise((resolve) => setTimeout(resolve, checkEveryMs));
    }
  }

  const server = createServer((client) => {
    turn += 1;
    const port = [...ready][turn % ready.size];
    client.on('error', () => undefined);
    if (port === undefined) {
      client.destroy();
      return;
    }
    const upstream = connect({ port, host: '127.0.0.1' });
    upstream.on('error', () => undefined);
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      connections.get(port)?.add(one);
      one.once('close', () => {
        connections.get(port)?.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const checks = ports.map(check);
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      stopping.abort();
      await Promise.all(checks);
      for (const sockets of connections.values()) for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
