import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP proxy in front of a service, which cuts connections as a failing network does. */
export interface CuttingProxy {
  /** `127.0.0.1:<port>`. */
  readonly target: string;
  /** Resets every connection at once, and returns how many there were. Until `restore`, new connections are accepted and get nothing. */
  cut(): number;
  /** Lets the connections pass that have waited since the cut, and later ones. */
  restore(): void;
  stop(): Promise<void>;
}

/** Starts a proxy to a port of this machine. */
export async function startCuttingProxy(port: number): Promise<CuttingProxy> {
  const passing = new Set<Socket>();
  const waiting = new Set<Socket>();
  let isCut = false;

  function pass(caller: Socket): void {
    const service = connect({ host: '127.0.0.1', port, noDelay: true });
    passing.add(caller);
    caller.once('close', () => {
      passing.delete(caller);
      service.destroy();
    });
    service.once('close', () => caller.destroy());
    service.on('error', () => caller.destroy());
    caller.pipe(service).pipe(caller);
  }

  const server = createServer({ noDelay: true }, (caller) => {
    // A reset reaches the other end as an error; `close` follows.
    caller.on('error', () => {});
    if (!isCut) return pass(caller);
    waiting.add(caller);
    caller.once('close', () => waiting.delete(caller));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');

  return {
    target: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut() {
      isCut = true;
      const { size } = passing;
      for (const caller of passing) caller.resetAndDestroy();
      return size;
    },
    restore() {
      isCut = false;
      for (const caller of waiting) pass(caller);
      waiting.clear();
    },
    async stop() {
      for (const caller of [...passing, ...waiting]) caller.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
