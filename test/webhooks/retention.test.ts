import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startRetention } from '../../src/webhooks/retention.js';
import { anEvent, silentLog } from '../support/stored-samples.js';
import { waitFor } from '../support/wait-for.js';
import { openOutbox } from './outbox.js';

const dayMs = 86_400_000;
const nowMs = Date.UTC(2030, 0, 31);

it('deletes delivered and dead events past the retention time with their attempts, and no others', async (test) => {
  const { store } = await openOutbox(test);
  const { change, read } = store;
  const old = Array.from({ length: 450 }, (_, number) =>
    anEvent({
      id: `old-${number}`,
      orderKey: `${number}`,
      status: number % 2 === 0 ? 'dead' : 'delivered',
      nextAttemptAtMs: nowMs - 7 * dayMs - 1,
    }),
  );
  const kept = [
    anEvent({ id: 'young-delivered', orderKey: 'a', status: 'delivered', nextAttemptAtMs: nowMs - 7 * dayMs }),
    anEvent({ id: 'young-dead', orderKey: 'b', status: 'dead', nextAttemptAtMs: nowMs }),
    anEvent({ id: 'pending', orderKey: 'c', nextAttemptAtMs: 0, createdAtMs: 0 }),
  ];
  await store.commit([...old, ...kept].map((event) => change.insertEvent(event)));
  const attempt = { attemptedAtMs: 0, durationMs: 1, httpStatus: 200, error: null, responseBody: '' };
  await store.commit(old.map(({ id }) => change.insertDeliveryAttempt(id, attempt)));

  const retention = startRetention({ store, clock: { nowMs: () => nowMs }, log: silentLog, retentionDays: 7 });
  const left = await waitFor('the old events to be deleted', async () => {
    const page = await read.deliveries('hook', { offset: 0, limit: 10 });
    return page.total <= kept.length ? page : undefined;
  });
  await retention.stop();
  assert.deepEqual(left.items.map(({ event }) => event.id).sort(), kept.map(({ id }) => id).sort());
});

it('retention: stops at once, even if it has just started', async (test) => {
  const { store } = await openOutbox(test);
  await startRetention({ store, clock: { nowMs: () => nowMs }, log: silentLog, retentionDays: 1 }).stop();
});
