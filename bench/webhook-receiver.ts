/*
 * A receiver in a process of its own. `/quick` answers at once, `/hang` never. GET /stats: the delays of the requests to `/quick` after the `at` in their bodies,
 * in milliseconds; it then starts over.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

// Ends with the benchmark that started it.
process.stdin.on('end', () => process.exit()).resume();

let latenciesMs: number[] = [];

const server = createServer((request, response) => {
  if (request.url === '/stats') {
    response.end(JSON.stringify(latenciesMs));
    latenciesMs = [];
    return;
  }
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    if (request.url === '/hang') return;
    const { at } = JSON.parse(Buffer.concat(chunks).toString()) as { at: number };
    latenciesMs.push(performance.timeOrigin + performance.now() - at);
    response.writeHead(204).end();
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
