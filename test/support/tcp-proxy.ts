import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net';

/**
 * What happens to bytes of a client: `cut before` ends its connection without passing them on, `cut after` passes them and drops the answer, and
 * `cut client` does so without the server noticing that the client is gone.
 */
export type Fate = 'pass' | 'cut before' | 'cut after' | 'cut client';

/** A proxy between a client and a server, which loses connections. */
export interface TcpProxy {
  readonly port: number;
  /** Decides about each chunk that a client sends; `pass` at first. */
  fateOf(decide: (chunk: Buffer) => Fate): void;
  /** From now on, new connections lead to this port. */
  leadTo(port: number): void;
  /** From now on changes what the server sends. */
  rewriteAnswers(rewrite: (chunk: Buffer) => Buffer): void;
  /** Ends all connections of the clients. With `keepServer`, the server does not notice. */
  cut(options?: { readonly keepServer?: boolean }): void;
  /** From now on passes nothing, in either direction, and accepts connections in silence. */
  hang(): void;
  /** Passes what comes on new connections. Those that hung stay silent. */
  heal(): void;
  stop(): Promise<void>;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket | null;
  isSilent: boolean;
}

/** Starts a proxy on a free port. */
export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  let target = targetPort;
  const pairs = new Set<Pair>();
  let isHanging = false;
  let decide: (chunk: Buffer) => Fate = () => 'pass';
  let rewrite = (chunk: Buffer): Buffer => chunk;

  // Silence includes that a client's end of the connection is not answered.
  const listener = createServer({ allowHalfOpen: true }, (client) => {
    const server = isHanging ? null : dial(target, '127.0.0.1');
    const pair: Pair = { client, server, isSilent: isHanging };
    pairs.add(pair);
    const drop = () => {
      pairs.delete(pair);
      client.destroy();
      server?.destroy();
    };
    client.on('error', () => undefined);
    client.on('end', () => {
      if (!pair.isSilent) client.end();
    });
    client.on('close', () => {
      if (!pair.isSilent) drop();
    });
    server?.on('error', () => undefined);
    server?.on('close', () => {
      if (!pair.isSilent) drop();
    });
    client.on('data', (chunk: Buffer) => {
      if (pair.isSilent || server === null) return;
      const fate = decide(chunk);
      if (fate === 'cut before') return drop();
      if (fate === 'pass') return void server.write(chunk);
      pair.isSilent = true;
      if (fate === 'cut client') server.write(chunk);
      // Half closed: the server answers what it got, and then sees the end.
      else server.end(chunk);
      server.once('close', () => pairs.delete(pair));
      client.destroy();
    });
    server?.on('data', (chunk: Buffer) => {
      if (!pair.isSilent) client.write(rewrite(chunk));
    });
  });
  await new Promise<void>((listening) => listener.listen(0, '127.0.0.1', listening));

  return {
    port: (listener.address() as AddressInfo).port,
    fateOf(decided) {
      decide = decided;
    },
    leadTo(port) {
      target = port;
    },
    rewriteAnswers(rewritten) {
      rewrite = rewritten;
    },
    cut({ keepServer = false } = {}) {
      for (const pair of pairs) {
        pair.isSilent = keepServer;
        pair.client.destroy();
      }
    },
    hang() {
      isHanging = true;
      for (const pair of pairs) pair.isSilent = true;
    },
    heal() {
      isHanging = false;
    },
    async stop() {
      const closed = new Promise((resolve) => listener.close(resolve));
      for (const { client, server } of pairs) {
        client.destroy();
        server?.destroy();
      }
      await closed;
    },
  };
}
