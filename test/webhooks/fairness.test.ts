import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { redeliverDelivery } from '../../src/core/notification/deliveries.js';
import { systemClock } from '../../src/core/work/clock.js';
import { startHttpReceiver } from '../support/http-receiver.js';
import { aNotification, anEvent } from '../support/stored-samples.js';
import { waitFor } from '../support/wait-for.js';
import { openOutbox } from './outbox.js';

const ok = (response: ServerResponse) => response.end();

describe('delivery to many receivers', () => {
  it('delivery: 150 receivers that hang, with ten events each, do not delay another receiver', async (test) => {
    const hanging = await startHttpReceiver(test, () => undefined);
    const quick = await startHttpReceiver(test, ok);
    const outbox = await openOutbox(test);
    const { change } = outbox.store;
    const ids = Array.from({ length: 150 }, (_, index) => `hanging-${index}`);
    await outbox.store.commit(
      ids.flatMap((id) => [
        change.insertNotification(aNotification({ id, url: hanging.url('/') })),
        ...Array.from({ length: 10 }, (_, key) =>
          change.insertEvent(anEvent({ id: `${id}-${key}`, notificationId: id, orderKey: `${id}-${key}` })),
        ),
      ]),
    );
    const delivery = outbox.deliver({ timeoutMs: 3_600_000 });
    await waitFor('all to hang', () => (hanging.requests.length >= ids.length ? true : undefined));
    const toQuick = await outbox.notification(quick.url('/'));
    for (let index = 0; index < 20; index += 1) await outbox.event(toQuick, `quick-${index}`);
    delivery.wake();
    await waitFor('the quick ones', () => (quick.requests.length === 20 ? true : undefined));
    assert.equal(hanging.requests.length, ids.length);
  });

  it('delivery: Retry-After of an answer 429 pauses all events of the notification, and no other notification', async (test) => {
    const busy = await startHttpReceiver(test, (response) => response.writeHead(429, { 'retry-after': '3600' }).end());
    const quick = await startHttpReceiver(test, ok);
    const outbox = await openOutbox(test);
    const toBusy = await outbox.notification(busy.url('/'));
    for (let index = 0; index < 100; index += 1) await outbox.event(toBusy, `busy-${index}`);
    const delivery = outbox.deliver();
    await waitFor('the refusal', () => outbox.logged('webhook failed; will retry')[0]);
    const toQuick = await outbox.notification(quick.url('/'));
    for (let index = 0; index < 20; index += 1) await outbox.event(toQuick, `quick-${index}`);
    delivery.wake();
    await waitFor('the quick ones', () => (quick.requests.length === 20 ? true : undefined));
    assert.equal(busy.requests.length, 1);
  });

  it('delivery: a redelivery that is requested during the last attempt is not lost if that attempt fails', async (test) => {
    const waiting: ServerResponse[] = [];
    const receiver = await startHttpReceiver(test, (response) => (waiting.length === 0 ? waiting.push(response) : response.end()));
    const outbox = await openOutbox(test);
    const notificationId = await outbox.notification(receiver.url('/'));
    const id = await outbox.event(notificationId, 'tx-1');
    await outbox.store.commit([outbox.store.change.updateEvent({ id, status: 'pending', attempts: 1, nextAttemptAtMs: 0 })]);
    outbox.deliver({ retrySeconds: [0.01] });
    const response = await waitFor('the last attempt', () => waiting[0]);
    await redeliverDelivery({ store: outbox.store, clock: systemClock }, notificationId, id);
    response.writeHead(500).end();
    await waitFor('the redelivery', () => outbox.logged('webhook delivered')[0]);
    assert.equal(receiver.requests.length, 2);
  });

  it('delivery: a clock that is set back an hour holds up no retry', async (test) => {
    let backMs = 0;
    const receiver = await startHttpReceiver(test, (response) => response.writeHead(receiver.requests.length === 1 ? 500 : 200).end());
    const outbox = await openOutbox(test);
    await outbox.event(await outbox.notification(receiver.url('/')), 'tx-1');
    outbox.deliver({ clock: { nowMs: () => Date.now() - backMs }, retrySeconds: [1] });
    await waitFor('the failure', () => outbox.logged('webhook failed; will retry')[0]);
    backMs = 3_600_000;
    await waitFor('the retry', () => outbox.logged('webhook delivered')[0]);
  });

  it('delivery: a backlog of large events is read within a budget of bytes', async (test) => {
    const hanging = await startHttpReceiver(test, () => undefined);
    const outbox = await openOutbox(test);
    const { change, read } = outbox.store;
    const ids = Array.from({ length: 20 }, (_, index) => `hanging-${index}`);
    const body = JSON.stringify({ data: 'x'.repeat(10_000) });
    await outbox.store.commit(
      ids.flatMap((id) => [
        change.insertNotification(aNotification({ id, url: hanging.url('/') })),
        ...Array.from({ length: 20 }, (_, key) =>
          change.insertEvent(anEvent({ id: `${id}-${key}`, notificationId: id, orderKey: `${id}-${key}`, body })),
        ),
      ]),
    );
    let readBytes = 0;
    const dueEvents: typeof read.dueEvents = async (...asked) => {
      const events = await read.dueEvents(...asked);
      readBytes += events.length * body.length;
      return events;
    };
    const maxHeldBytes = 100_000;
    outbox.deliver({ timeoutMs: 3_600_000, maxHeldBytes, store: { ...outbox.store, read: { ...read, dueEvents } } });
    await waitFor('the first attempts', () => (hanging.requests.length >= 5 ? true : undefined));
    assert.ok(readBytes <= maxHeldBytes, `${readBytes} bytes were read`);
  });
});
