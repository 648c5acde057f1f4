import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as elapsed } from 'node:timers/promises';
import { Agent } from 'undici';
import { openStore } from '../src/storage/open-store.js';
import { createServiceHome, type ServiceHome } from '../test/support/service.js';
import { anEvent, silentLog } from '../test/support/stored-samples.js';
import { type Figure, percentile, residentMb, timesOf, untilReady } from './reads.js';
import { startServiceIn } from './servers.js';
import { startReceiver } from './webhooks.js';

/** As a transaction has: accepted, sent, mined, confirmed. */
const eventsOfEach = 4;
const perCommit = 500;
const deliveringMs = 15_000;
/** A page of deliveries also counts the whole list. */
const pages = 200;
const scrapes = 200;

/**
 * Measures the built service with this number of pending webhook events, four of each transaction, for one receiver. At first the receiver hangs: the time from
 * start to ready, pages of deliveries, a scrape of the metrics, and the memory after them. Then it answers: deliveries per second, and the memory
 * after them.
 */
export async function benchBacklog(main: string, pending: number): Promise<readonly Figure[]> {
  const receiver = await startReceiver();
  // No node is at that address: only the outbox works.
  const home = await createServiceHome({
    rpcUrl: 'http://127.0.0.1:9',
    notifications: [{ id: 'hook', type: 'webhook', url: receiver.url('/held') }],
    env: { LOG_LEVEL: 'info' },
  });
  try {
    await fill(home, pending);
    const began = performance.now();
    const service = await startServiceIn(home, main, []);
    const agent = new Agent({ connections: 1, pipelining: 1 });
    try {
      const origin = `http://127.0.0.1:${service.ports[0]}`;
      await untilReady(`${origin}/api/v1`, agent);
      const readyMs = performance.now() - began;
      const list = `${origin}/api/v1/notifications/hook/deliveries`;
      const pageMs = await timesOf(agent, (index) => `${list}?page=${(index % 100) + 1}&per_page=100`, pages);
      const scrapeMs = await timesOf(agent, () => `${origin}/metrics`, scrapes);
      const heldMb = residentMb(service.pid);
      await receiver.delaysMs();
      await receiver.release();
      const releasedMs = performance.now();
      await elapsed(deliveringMs);
      const delivered = (await receiver.delaysMs()).length;
      return [
        { what: `start to ready with ${pending} pending events`, value: readyMs / 1000, unit: 's', goal: '<= 2' },
        { what: 'one of the first 100 pages of 100 deliveries, p99', value: percentile(pageMs, 0.99), unit: 'ms', goal: '<= 20' },
        { what: 'GET /metrics, p99', value: percentile(scrapeMs, 0.99), unit: 'ms', goal: '<= 50' },
        { what: 'memory (RSS) while the receiver hangs', value: heldMb, unit: 'MB', goal: '<= 300' },
        { what: 'deliveries', value: (delivered / (performance.now() - releasedMs)) * 1000, unit: '/s', goal: '>= 1000' },
        { what: 'memory (RSS) after them', value: residentMb(service.pid), unit: 'MB', goal: '<= 300' },
      ];
    } finally {
      await agent.close();
      await service.stop();
    }
  } finally {
    await home.remove();
    receiver.stop();
  }
}

async function fill(home: ServiceHome, pending: number): Promise<void> {
  const { store } = await openStore(`sqlite:${join(home.dir, 'relayer.db')}`, { log: silentLog });
  const nowMs = Date.now();
  for (let from = 0; from < pending; from += perCommit) {
    const changes = Array.from({ length: Math.min(perCommit, pending - from) }, (_, offset) => {
      const id = randomUUID();
      // As long as the record of a transaction. The delay of a delivery means nothing here.
      const body = JSON.stringify({ id, at: 0, payload: { payload_type: 'transaction', data: 'x'.repeat(900) } });
      const orderKey = `transaction-${Math.floor((from + offset) / eventsOfEach)}`;
      return store.change.insertEvent(anEvent({ id, orderKey, body, nextAttemptAtMs: nowMs, createdAtMs: nowMs }));
    });
    await store.commit(changes);
  }
  await store.close();
}
