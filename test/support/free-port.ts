import { type AddressInfo, createServer } from 'node:net';

/** A port of the loopback address that nobody listens on, for what must come back where it was. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
}
