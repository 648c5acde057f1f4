/*
 * A receiver in a process of its own. `/quick` answers at once, `/hang` never, `/held` after GET /release. GET /stats: the delays of the answered requests
 * after the `at` in their bodies, in milliseconds; it then starts over.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

// Ends with the benchmark that started it.
process.stdin.on('end', () => process.exit()).resume();

let latenciesMs: number[] = [];
let release = (): void => undefined;
const released = new Promise<void>((resolve) => {
  release = resolve;
});

const server = createServer((request, response) => {
  if (request.url === '/stats') {
    response.end(JSON.stringify(latenciesMs));
    latenciesMs = [];
    return;
  }
  if (request.url === '/release') {
    release();
    response.end();
    return;
  }
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', async () => {
    if (request.url === '/hang') return;
    if (request.url === '/held') await released;
    const { at } = JSON.parse(Buffer.concat(chunks).toString()) as { at: number };
    latenciesMs.push(performance.timeOrigin + performance.now() - at);
    response.writeHead(204).end();
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
