import { parseArgs } from 'node:util';
import pg from 'pg';
import { openInstance } from '../src/app/open-instance.js';
import type { Store } from '../src/core/ports/store/store.js';
import { noFiles } from '../test/support/no-files.js';
import { startPostgres } from '../test/support/postgres.js';
import { aNotification, anAttempt, anEvent, aTransaction, next, sampleLane, silentLog } from '../test/support/stored-samples.js';
import { say } from './sends.js';

/* `npm run bench -- snapshot [--commits 36000] [--measured 4000] [--max 1.2]`. See README.md here. */

const { values } = parseArgs({
  options: {
    commits: { type: 'string', default: '36000' },
    measured: { type: 'string', default: '4000' },
    max: { type: 'string', default: '1.2' },
  },
});
const [commits, measured, maxRatio] = [Number(values.commits), Number(values.measured), Number(values.max)];

/** A store whose transactions go from acceptance to their block, one commit after the other. */
interface Side {
  readonly name: string;
  readonly databaseUrl: string;
  commit(): Promise<void>;
  /** The pages that the server has read for this side so far, as it counted at most a second ago. */
  pages(): Promise<number>;
  close(): Promise<void>;
}

const server = await startPostgres();

/** The commits of one transaction after the other: accepted, signed, mined, confirmed. */
async function* life({ change, commit }: Store): AsyncGenerator<void, void, void> {
  await commit([change.insertNotification(aNotification({ id: 'hook' }))]);
  await commit([change.openLane(sampleLane, 0n)]);
  for (let nonce = 0n; ; nonce += 1n) {
    const id = `transaction-${nonce}`;
    const event = (status: string) => change.insertEvent(anEvent({ id: `${id}-${status}`, orderKey: id }));
    const accepted = aTransaction({ id });
    await commit([change.insertTransaction(accepted), event('pending')]);
    yield;
    const signed = next(accepted, { status: 'submitted', nonce, liveVersion: 1 });
    const attempt = anAttempt({ transactionId: id, nonce, hash: `0x${nonce.toString(16).padStart(64, '0')}` });
    await commit([
      change.moveLane(sampleLane, nonce, nonce + 1n),
      change.insertAttempt(attempt),
      change.updateTransaction(signed),
      event('submitted'),
    ]);
    yield;
    const mined = next(signed, { status: 'mined' });
    await commit([change.updateTransaction(mined), event('mined')]);
    yield;
    await commit([change.updateTransaction(next(mined, { status: 'confirmed' })), event('confirmed')]);
    yield;
  }
}

async function openSide(name: string): Promise<Side> {
  const databaseUrl = await server.newDatabase();
  const { store, leases } = await openInstance(databaseUrl, { log: silentLog, instance: { version: 'bench', files: noFiles } });
  await leases.start();
  const client = new pg.Client(databaseUrl);
  await client.connect();
  const steps = life(store);
  return {
    name,
    databaseUrl,
    commit: async () => void (await steps.next()),
    async pages() {
      const { rows } = await client.query('select blks_hit + blks_read as pages from pg_stat_database where datname = current_database()');
      return Number(rows[0].pages);
    },
    async close() {
      await client.end();
      await leases.stop();
      await store.close();
    },
  };
}

function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** Runs commits on both sides in turns, so that the load of the machine meets both alike. Returns their durations in order of length. */
async function inTurns(sides: readonly Side[], count: number): Promise<readonly (readonly number[])[]> {
  const durations = sides.map((): number[] => []);
  for (let number = 0; number < count; number += 1) {
    for (const [index, side] of sides.entries()) {
      const beganMs = performance.now();
      await side.commit();
      durations[index]?.push(performance.now() - beganMs);
    }
  }
  return durations.map((list) => list.sort((a, b) => a - b));
}

const sides = [await openSide('without a snapshot'), await openSide('beside a snapshot')] as const;
const snapshot = new pg.Client(sides[1].databaseUrl);
await snapshot.connect();
await inTurns(sides, 400);
// A snapshot keeps the versions of rows in its own database only.
await snapshot.query('begin isolation level repeatable read; select count(*) from transactions');
let ratio = 0;
for (let written = 0; written < commits; written += measured) {
  const before = await Promise.all(sides.map((side) => side.pages()));
  const durations = await inTurns(sides, measured);
  const after = await Promise.all(sides.map((side) => side.pages()));
  const pages = after.map((count, index) => Math.round((count - (before[index] ?? 0)) / measured));
  const [without, beside] = durations.map((list) => [0.5, 0.99].map((share) => percentile(list, share)));
  ratio = (beside?.[1] ?? 0) / (without?.[1] ?? 1);
  const figures = [without, beside].map((list) => list?.map((ms) => ms.toFixed(2)).join(' and ')).join(' ms, beside the snapshot ');
  say(
    `after ${written + measured} commits: median and p99 ${figures} ms, ${ratio.toFixed(2)} times the p99; pages a commit ${pages.join(' and ')}`,
  );
}
await snapshot.end();
for (const side of sides) await side.close();
await server.stop();
if (ratio > maxRatio)
  throw new Error(`beside a snapshot, the p99 of a commit is ${ratio.toFixed(2)} times that without (goal ${maxRatio})`);
