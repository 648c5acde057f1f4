/*
 * Delivery of webhooks to a receiver in another process, over a real database file: how many per second, and whether receivers that hang delay the
 * others. Run: npm run build && node dist/bench/webhooks.js
 */

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as elapsed } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createNotification } from '../src/core/notification/notifications.js';
import type { Change } from '../src/core/ports/store/change.js';
import type { Store } from '../src/core/ports/store/store.js';
import { systemIds } from '../src/core/records/ids.js';
import { systemClock } from '../src/core/work/clock.js';
import { openStore, wakeOnEvents } from '../src/storage/open-store.js';
import { createSecretBox } from '../src/storage/secret-box.js';
import { createDelivery } from '../src/webhooks/delivery.js';
import { beginAll } from '../test/support/sole-leases.js';
import type { Figure } from './reads.js';

const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const rateEvents = 10_000;
const hangingReceivers = 10;
const backlogOfEach = 1_000;
const steadyPerSecond = 200;
const steadySeconds = 5;

/** Measures both, in about fifteen seconds. */
export async function benchWebhooks(): Promise<readonly Figure[]> {
  const receiver = await startReceiver();
  try {
    const perSecond = await inOutbox(receiver, measureRate);
    const delaysMs = await inOutbox(receiver, measureDelays);
    return [
      { what: `webhooks to one receiver, ${rateEvents} due at once`, value: perSecond, unit: '/s', goal: '>= 1000' },
      ...[50, 99, 100].map((percent) => ({
        what: `change to delivery beside ${hangingReceivers} hanging receivers, ${steadyPerSecond}/s, p${percent}`,
        value: delaysMs[Math.ceil((delaysMs.length * percent) / 100) - 1] ?? Number.NaN,
        unit: 'ms',
        goal: percent === 99 ? '< 100' : '',
      })),
    ];
  } finally {
    receiver.stop();
  }
}

/** A receiver in a process of its own. */
export interface Receiver {
  url(path: string): string;
  /** The delays between changes and their deliveries, since the last call. */
  delaysMs(): Promise<number[]>;
  /** From now on `/held` answers. */
  release(): Promise<void>;
  stop(): void;
}

interface Outbox {
  readonly store: Store;
  notification(url: string): Promise<string>;
  /** An event that is due, with the present time in its body. */
  event(notificationId: string): Change;
  deliver(): void;
}

async function measureRate(outbox: Outbox, receiver: Receiver): Promise<number> {
  const quick = await outbox.notification(receiver.url('/quick'));
  for (let written = 0; written < rateEvents; written += 100) {
    await outbox.store.commit(Array.from({ length: 100 }, () => outbox.event(quick)));
  }
  const begunMs = performance.now();
  outbox.deliver();
  while ((await outbox.store.read.pendingEventCount(1)) > 0) await elapsed(20);
  return (rateEvents / (performance.now() - begunMs)) * 1000;
}

async function measureDelays(outbox: Outbox, receiver: Receiver): Promise<readonly number[]> {
  await receiver.delaysMs();
  for (let index = 0; index < hangingReceivers; index += 1) {
    const hanging = await outbox.notification(receiver.url('/hang'));
    for (let written = 0; written < backlogOfEach; written += 100) {
      await outbox.store.commit(Array.from({ length: 100 }, () => outbox.event(hanging)));
    }
  }
  const quick = await outbox.notification(receiver.url('/quick'));
  outbox.deliver();
  const begunMs = performance.now();
  for (let sent = 0; sent < steadyPerSecond * steadySeconds; sent += 1) {
    await elapsed(Math.max(0, begunMs + (sent * 1000) / steadyPerSecond - performance.now()));
    await outbox.store.commit([outbox.event(quick)]);
  }
  await elapsed(500);
  const delaysMs = await receiver.delaysMs();
  if (delaysMs.length !== steadyPerSecond * steadySeconds) throw new Error(`only ${delaysMs.length} came`);
  return delaysMs.sort((a, b) => a - b);
}

/** Runs `measure` with an empty outbox in a file of its own. */
async function inOutbox<T>(receiver: Receiver, measure: (outbox: Outbox, receiver: Receiver) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'relayer-bench-'));
  const opened = await openStore(`sqlite:${join(folder, 'relayer.db')}`, { log: silent });
  const secretBox = createSecretBox(randomBytes(32).toString('base64'));
  const store = wakeOnEvents(opened.store, () => delivery.wake());
  const deps = { store, secretBox, clock: systemClock, ids: systemIds, log: silent, allowPrivateTargets: true };
  const delivery = createDelivery({ ...deps, retrySeconds: [5, 30, 120], timeoutMs: 15_000 });
  try {
    return await measure(
      {
        store,
        async notification(url) {
          const signingKey = `whsec_${randomBytes(32).toString('base64')}`;
          return (await createNotification(deps, { id: undefined, url, signingKey })).notification.id;
        },
        event(notificationId) {
          const id = systemIds.timeOrdered();
          const nowMs = Date.now();
          const at = performance.timeOrigin + performance.now();
          // As long as the record of a transaction.
          const body = JSON.stringify({ id, at, payload: { payload_type: 'transaction', data: 'x'.repeat(900) } });
          return store.change.insertEvent({
            id,
            notificationId,
            event: 'transaction_update',
            orderKey: id,
            body,
            status: 'pending',
            attempts: 0,
            nextAttemptAtMs: nowMs,
            createdAtMs: nowMs,
            traceParent: null,
          });
        },
        deliver: () => void beginAll(delivery.works),
      },
      receiver,
    );
  } finally {
    await delivery.stop(AbortSignal.abort());
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Starts the receiver of `webhook-receiver.ts`. */
export async function startReceiver(): Promise<Receiver> {
  const file = fileURLToPath(new URL('./webhook-receiver.js', import.meta.url));
  const child = spawn(process.execPath, [file], { stdio: ['pipe', 'pipe', 'inherit'] });
  const port = await new Promise<string>((resolve, reject) => {
    child.stdout.once('data', (line: Buffer) => resolve(line.toString().trim()));
    child.once('exit', () => reject(new Error('the receiver ended by itself')));
  });
  const url = (path: string) => `http://127.0.0.1:${port}${path}`;
  return {
    url,
    delaysMs: async () => (await (await fetch(url('/stats'))).json()) as number[],
    release: async () => void (await fetch(url('/release'))),
    stop: () => void child.kill(),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const rows = await benchWebhooks();
  for (const { what, value, unit, goal } of rows) {
    process.stdout.write(`${what.padEnd(78)} ${value.toFixed(1).padStart(8)} ${unit.padEnd(3)} ${goal}\n`);
  }
}
