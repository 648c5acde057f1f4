import { type AddressInfo, createServer } from 'node:net';

/** Returns a free port of the loopback address, for programs that do not tell the port that they take. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
}
