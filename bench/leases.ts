import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import pg from 'pg';
import type { Work } from '../src/core/ports/leases.js';
import { createLeaseShares } from '../src/engine/leases/lease-shares.js';
import { openStore } from '../src/storage/open-store.js';
import { noFiles } from '../test/support/no-files.js';
import { startPostgres } from '../test/support/postgres.js';
import { silentLog } from '../test/support/stored-samples.js';
import { say } from './sends.js';

/* `npm run bench -- leases [--leases 100000] [--instances 10]`. See README.md here. */

const { values } = parseArgs({ options: { leases: { type: 'string', default: '100000' }, instances: { type: 'string', default: '10' } } });
const keys = Array.from({ length: Number(values.leases) }, (_, index) => `evm:${index % 50}/0x${index.toString(16).padStart(40, '0')}`);
/** The goal: no turn of the event loop lasts longer. */
const goalMs = 50;

const server = await startPostgres();
const databaseUrl = await server.newDatabase();
const { store, shared } = await openStore(databaseUrl, { log: silentLog, instance: { version: 'bench', files: noFiles } });
const client = new pg.Client(databaseUrl);
await client.connect();
if (shared === null) throw new Error('leases need PostgreSQL');
const me = await shared.join('sharing');
const members = Array.from({ length: Number(values.instances) }, (_, index) => me + index);
let begun = 0;
const work: Work = {
  async begin() {
    begun += 1;
  },
  async end() {
    begun -= 1;
  },
};
const shares = createLeaseShares({
  leases: shared.leases,
  me: () => me,
  news: { addLeases: () => undefined, send: () => undefined },
  lookAgain: () => undefined,
  clock: { elapsedMs: () => performance.now() },
  log: silentLog,
});
let longestMs = 0;

/** The processor time of the main thread so far, so that waits for a processor do not count. */
const runMs = () => Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ')[0]) / 1e6;

async function measure(name: string, run: () => Promise<void>): Promise<void> {
  let isRunning = true;
  let turnMs = 0;
  let lastMs = runMs();
  const watch = (): void => {
    const nowMs = runMs();
    turnMs = Math.max(turnMs, nowMs - lastMs);
    lastMs = nowMs;
    if (isRunning) setImmediate(watch);
  };
  watch();
  const startedMs = performance.now();
  await run();
  await new Promise(setImmediate);
  isRunning = false;
  longestMs = Math.max(longestMs, turnMs);
  const tookMs = Math.round(performance.now() - startedMs);
  say(`${name}: ${tookMs} ms, longest turn of the event loop ${turnMs.toFixed(1)} ms of processor time (goal ${goalMs} ms)`);
}

async function round(): Promise<void> {
  shares.outdate();
  await shares.round(members);
}

await shares.add('lane', new Map(keys.map((key) => [key, work])));
await measure('the first instance adds all leases, and takes its share', round);
await client.query(`update leases set holder = ${me + 1} + abs(hashtext(key)) % ${members.length - 1} where holder is null`);
await measure('the other instances take theirs', round);
await client.query(`update leases set holder = ${me + 2} where ctid in (select ctid from leases where holder = ${me + 1} limit 1)`);
await measure('one lease moves', round);
await measure('nothing changes', round);
await measure('the instances are listed, and a scrape', async () => {
  for (const member of members) shares.heldBy(member);
  shares.unheld();
});
say(`${begun} leases are held here`);
await client.end();
await store.close();
await server.stop();
if (longestMs > goalMs) throw new Error(`a turn of the event loop took ${longestMs.toFixed(1)} ms`);
