import type { AddressInfo, Server } from 'node:net';

/** Listens with each server on a free port of its own, and prints the ports on one line, separated by commas, in the order of the servers. */
export async function announcePorts(servers: readonly Server[]): Promise<void> {
  const ports = await Promise.all(
    servers.map(
      (server) => new Promise<number>((resolve) => server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))),
    ),
  );
  process.stdout.write(`${ports.join(',')}\n`);
}
