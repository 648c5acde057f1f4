/*
 * `npm run bench:lanes -- [--lanes 1000] [--seconds 30] [--service dist/src/main.js]`. See README.md here.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as elapsed } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Agent, request } from 'undici';
import { startAnvil } from '../test/support/anvil.js';
import { createLanesHome } from './lanes-home.js';
import { processCpuUs } from './load/process-cpu.js';
import { residentMb } from './reads.js';
import { authorization, startServiceIn } from './servers.js';
import { median } from './table.js';

/* Many relayers that do nothing: what they cost at the start, at each block, in memory and at a scrape. */

const { values: options } = parseArgs({
  options: {
    lanes: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '30' },
    service: { type: 'string', default: 'dist/src/main.js' },
  },
});
const lanes = Number(options.lanes);
const scrapes = 5;

const chain = await startAnvil({ blockTime: 1, args: [] });
let requests = 0;
let heads = 0;
const toNode = new Agent({ connections: 64 });
const proxy = createServer((incoming, outgoing) => {
  const chunks: Buffer[] = [];
  incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
  incoming.on('end', () => {
    const body = Buffer.concat(chunks);
    requests += 1;
    if (body.includes('"latest",false')) heads += 1;
    request(chain.url, { dispatcher: toNode, method: 'POST', headers: { 'content-type': 'application/json' }, body })
      .then(async (answer) =>
        outgoing.writeHead(answer.statusCode, { 'content-type': 'application/json' }).end(Buffer.from(await answer.body.arrayBuffer())),
      )
      .catch(() => outgoing.destroy());
  });
});
await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
const home = await createLanesHome(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, lanes);
const startedAt = performance.now();
const server = await startServiceIn(home, options.service, []);
try {
  const [port] = server.ports;
  const cpuMs = () => (processCpuUs(server.pid) ?? Number.NaN) / 1000;
  say(
    `${lanes} lanes: ready after ${((performance.now() - startedAt) / 1000).toFixed(1)} s and ${cpuMs().toFixed(0)} ms of processor time`,
  );
  // Each account is read before its lane rests; an earlier build may never rest.
  for (let waits = 0, seen = -lanes; waits < 6 && requests - heads - seen > lanes / 20; waits += 1) {
    seen = requests - heads;
    await elapsed(5_000);
  }
  const before = { cpuMs: cpuMs(), atMs: performance.now(), requests, heads };
  await elapsed(Number(options.seconds) * 1000);
  const tookMs = performance.now() - before.atMs;
  const blocks = tookMs / 1000;
  say(
    `  idle: ${((100 * (cpuMs() - before.cpuMs)) / tookMs).toFixed(1)} % of a core; per block of 1 s ${((requests - heads - before.requests + before.heads) / blocks).toFixed(2)} requests to the node beside ${((heads - before.heads) / blocks).toFixed(1)} for the head; ${residentMb(server.pid).toFixed(0)} MB`,
  );
  const scrapeMs: number[] = [];
  let bytes = 0;
  for (let scrape = 0; scrape < scrapes; scrape += 1) {
    const atMs = cpuMs();
    const answer = await request(`http://127.0.0.1:${port}/metrics`, { headers: { authorization } });
    bytes = (await answer.body.arrayBuffer()).byteLength;
    scrapeMs.push(cpuMs() - atMs);
  }
  say(`  GET /metrics: ${(bytes / 1000).toFixed(0)} kB, ${median(scrapeMs).toFixed(0)} ms of processor time`);
} finally {
  await server.stop();
  await home.remove();
  proxy.close();
  proxy.closeAllConnections();
  await toNode.close();
  await chain.stop();
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
