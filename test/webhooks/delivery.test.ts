import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { deleteNotification, updateNotification } from '../../src/core/notification/notifications.js';
import { StoreAwayError } from '../../src/core/ports/store/change.js';
import { systemClock } from '../../src/core/work/clock.js';
import { createSecretBox } from '../../src/storage/secret-box.js';
import { signatureHeaders } from '../../src/webhooks/sign-delivery.js';
import { definitionWriterOf } from '../support/definition-writer-of.js';
import { type ReceivedRequest, startHttpReceiver } from '../support/http-receiver.js';
import { waitFor } from '../support/wait-for.js';
import { openOutbox } from './outbox.js';

const key = 'a signing key of more than 32 characters';
const otherBox = createSecretBox(randomBytes(32).toString('base64'));

const ok = (response: ServerResponse) => response.end();
const idOf = (request: ReceivedRequest) => request.headers['webhook-id'];
const orderKeyOf = (request: ReceivedRequest): string => JSON.parse(request.body.toString()).orderKey;

describe('delivery', () => {
  it('delivery: posts the exact body with its signatures', async (test) => {
    const receiver = await startHttpReceiver(test, ok);
    const outbox = await openOutbox(test);
    const body = '{"id":"1","payload":{"value":123456789012345678901234567890,"text":"ü"}}';
    const id = await outbox.event(await outbox.notification(receiver.url('/hook?token=hunter2'), key), 'tx-1', body);
    outbox.deliver();
    await waitFor('the delivery', () => outbox.logged('webhook delivered')[0]);
    const [request] = receiver.requests;
    assert(request !== undefined);
    assert.equal(request.path, '/hook?token=hunter2');
    assert.equal(request.headers['content-type'], 'application/json');
    assert.equal(request.headers['user-agent'], 'relayer-service');
    assert.equal(request.headers['webhook-id'], id);
    assert.equal(request.body.toString(), body);
    assert.equal(request.headers['x-signature'], createHmac('sha256', key).update(request.body).digest('base64'));
    const signed = Buffer.concat([Buffer.from(`${id}.${request.headers['webhook-timestamp']}.`), request.body]);
    assert.equal(request.headers['webhook-signature'], `v1,${createHmac('sha256', key).update(signed).digest('base64')}`);
    await waitFor('the outbox to be empty', outbox.isEmpty);
    assert.doesNotMatch(JSON.stringify(outbox.lines), /hunter2|a signing key/);
  });

  it('delivery: signs with the current key of the notification, and does not sign without a key', async (test) => {
    const receiver = await startHttpReceiver(test, ok);
    const outbox = await openOutbox(test);
    const notificationId = await outbox.notification(receiver.url('/'));
    await outbox.event(notificationId, 'tx-1');
    const delivery = outbox.deliver();
    await waitFor('the first delivery', () => receiver.requests[0]);
    assert.equal(receiver.requests[0]?.headers['x-signature'], undefined);
    assert.equal(receiver.requests[0]?.headers['webhook-signature'], undefined);

    const deps = { store: outbox.store, secretBox: otherBox, clock: systemClock, allowPrivateTargets: true };
    await updateNotification(deps, { id: notificationId, url: undefined, signingKey: key });
    await delivery.stop(AbortSignal.timeout(5000));
    await outbox.event(notificationId, 'tx-1');
    outbox.deliver({ secretBox: otherBox });
    const second = await waitFor('the second delivery', () => receiver.requests[1]);
    assert.equal(second.headers['x-signature'], createHmac('sha256', key).update(second.body).digest('base64'));
  });

  it('delivery: sends nothing if it cannot decrypt the key', async (test) => {
    const receiver = await startHttpReceiver(test, ok);
    const outbox = await openOutbox(test);
    await outbox.event(await outbox.notification(receiver.url('/'), key), 'tx-1');
    outbox.deliver({ secretBox: otherBox, retrySeconds: [] });
    const given = await waitFor('the end', () => outbox.logged('webhook failed; no more delivery attempts')[0]);
    assert.match(String(given.fields.error), /STORAGE_ENCRYPTION_KEY cannot decrypt/);
    assert.equal(receiver.requests.length, 0);
  });

  it('delivery: wakes for an event that is committed while it is idle', async (test) => {
    const receiver = await startHttpReceiver(test, ok);
    const outbox = await openOutbox(test);
    const notificationId = await outbox.notification(receiver.url('/'));
    const delivery = outbox.deliver();
    for (let sent = 1; sent <= 3; sent += 1) {
      await outbox.event(notificationId, 'tx-1');
      delivery.wake();
      await waitFor(`delivery ${sent}`, () => receiver.requests[sent - 1]);
    }
  });

  it('delivery: retries a failed event with the same id and body', async (test) => {
    const receiver = await startHttpReceiver(test, (response) => response.writeHead(receiver.requests.length < 3 ? 500 : 200).end('why'));
    const outbox = await openOutbox(test);
    const id = await outbox.event(await outbox.notification(receiver.url('/'), key), 'tx-1');
    outbox.deliver();
    const delivered = await waitFor('the delivery', () => outbox.logged('webhook delivered')[0]);
    assert.equal(delivered.fields.attempt, 3);
    assert.deepEqual(receiver.requests.map(idOf), [id, id, id]);
    assert.equal(new Set(receiver.requests.map(({ body }) => body.toString())).size, 1);
    assert.deepEqual(
      outbox.logged('webhook failed; will retry').map(({ fields }) => [fields.attempt, fields.httpStatus, fields.excerpt]),
      [
        [1, 500, 'why'],
        [2, 500, 'why'],
      ],
    );
  });

  it('delivery: each attempt is signed with the time at which it begins', async (test) => {
    const clock = { ms: 1_900_000_000_000, nowMs: () => clock.ms, elapsedMs: systemClock.elapsedMs };
    const receiver = await startHttpReceiver(test, (response) => {
      // Receivers refuse what is older than five minutes.
      clock.ms += 600_000;
      response.writeHead(receiver.requests.length < 3 ? 500 : 200).end();
    });
    const outbox = await openOutbox(test);
    await outbox.event(await outbox.notification(receiver.url('/'), key), 'tx-1');
    outbox.deliver({ clock });
    await waitFor('the delivery', () => outbox.logged('webhook delivered')[0]);
    const signed = receiver.requests.map(({ headers, body }) => ({
      id: headers['webhook-id'],
      at: headers['webhook-timestamp'],
      headers,
      body,
    }));
    assert.deepEqual(
      signed.map(({ at }) => at),
      ['1900000000', '1900000600', '1900001200'],
    );
    for (const { id, at, headers, body } of signed) {
      const expected = signatureHeaders({ id: String(id), body, timestampSeconds: Number(at), signingKey: key, retiredKeys: [] });
      assert.equal(headers['webhook-signature'], expected['webhook-signature']);
    }
  });

  it('delivery: ends an event after the last retry and continues with the next event', async (test) => {
    const receiver = await startHttpReceiver(test, (response, request) => {
      response.writeHead(idOf(request) === first ? 503 : 200).end();
    });
    const outbox = await openOutbox(test);
    const notificationId = await outbox.notification(receiver.url('/'));
    const first = await outbox.event(notificationId, 'tx-1');
    const second = await outbox.event(notificationId, 'tx-1');
    outbox.deliver({ retrySeconds: [0.01, 0.01] });
    await waitFor('the second event', () => outbox.logged('webhook delivered')[0]);
    assert.deepEqual(receiver.requests.map(idOf), [first, first, first, second]);
    assert.equal(outbox.logged('webhook failed; no more delivery attempts')[0]?.fields.eventId, first);
    await waitFor('the outbox to be empty', outbox.isEmpty);
  });

  it('delivery: ends an event at once if the receiver answers 410 Gone', async (test) => {
    const receiver = await startHttpReceiver(test, (response) => response.writeHead(410).end());
    const outbox = await openOutbox(test);
    await outbox.event(await outbox.notification(receiver.url('/')), 'tx-1');
    outbox.deliver();
    await waitFor('the end', () => outbox.logged('webhook failed; no more delivery attempts')[0]);
    await waitFor('the outbox to be empty', outbox.isEmpty);
    assert.equal(receiver.requests.length, 1);
  });

  it('delivery: waits as long as Retry-After asks', async (test) => {
    const receiver = await startHttpReceiver(test, (response) => response.writeHead(429, { 'retry-after': '3600' }).end());
    const outbox = await openOutbox(test);
    await outbox.event(await outbox.notification(receiver.url('/')), 'tx-1');
    const beforeMs = Date.now();
    outbox.deliver();
    await waitFor('the failure to be stored', async () => {
      const nextMs = (await outbox.store.read.pendingTargets(Date.now()))[0]?.nextAtMs;
      return nextMs !== undefined && nextMs >= beforeMs + 3_600_000 ? true : undefined;
    });
  });

  it('delivery: keeps the order of events of each transaction across failures', async (test) => {
    const failed = new Set<string>();
    const receiver = await startHttpReceiver(test, (response, request) => {
      const id = String(idOf(request));
      // Every other event fails at first, and answers are slow.
      const fails = receiver.requests.length % 2 === 0 && !failed.has(id);
      if (fails) failed.add(id);
      setTimeout(() => response.writeHead(fails ? 500 : 200).end(), receiver.requests.length % 5);
    });
    const outbox = await openOutbox(test);
    const notificationId = await outbox.notification(receiver.url('/'));
    const sent = new Map<string, string[]>();
    for (let step = 0; step < 5; step += 1) {
      for (const orderKey of ['tx-1', 'tx-2', 'tx-3', 'tx-4']) {
        sent.set(orderKey, [...(sent.get(orderKey) ?? []), await outbox.event(notificationId, orderKey)]);
      }
    }
    outbox.deliver();
    await waitFor('all deliveries', () => (outbox.logged('webhook delivered').length === 20 ? true : undefined));
    assert.ok(failed.size > 0);
    for (const [orderKey, ids] of sent) {
      const got = receiver.requests.filter((request) => orderKeyOf(request) === orderKey).map(idOf);
      // Attempts of one event are consecutive; without the repeats, this is the order of sending.
      assert.deepEqual(
        got.filter((id, index) => id !== got[index - 1]),
        ids,
      );
    }
  });

  it('delivery: lets a receiver that hangs block one place and no others', async (test) => {
    const hanging = await startHttpReceiver(test, () => undefined);
    const quick = await startHttpReceiver(test, ok);
    const outbox = await openOutbox(test);
    const toHanging = await outbox.notification(hanging.url('/'));
    const toQuick = await outbox.notification(quick.url('/'));
    for (let index = 0; index < 20; index += 1) await outbox.event(toHanging, `slow-${index}`);
    for (let index = 0; index < 20; index += 1) await outbox.event(toQuick, `quick-${index}`);
    outbox.deliver();
    await waitFor('the quick ones', () => (outbox.logged('webhook delivered').length === 20 ? true : undefined));
    await waitFor('the hanging one', () => hanging.requests[0]);
    assert.equal(hanging.requests.length, 1);
    assert.equal(quick.requests.length, 20);
  });

  it('delivery: does not delay one transaction for the failures of another', async (test) => {
    const receiver = await startHttpReceiver(test, (response, request) =>
      response.writeHead(orderKeyOf(request) === 'bad' ? 500 : 200).end(),
    );
    const outbox = await openOutbox(test);
    const notificationId = await outbox.notification(receiver.url('/'));
    await outbox.event(notificationId, 'bad');
    await outbox.event(notificationId, 'bad');
    const good = await outbox.event(notificationId, 'good');
    outbox.deliver({ retrySeconds: [3600] });
    const delivered = await waitFor('the good one', () => outbox.logged('webhook delivered')[0]);
    assert.equal(delivered.fields.eventId, good);
  });

  it('delivery: posts an aborted event again after a restart', async (test) => {
    let hang = true;
    const receiver = await startHttpReceiver(test, (response) => {
      if (!hang) response.end();
    });
    const outbox = await openOutbox(test);
    const notificationId = await outbox.notification(receiver.url('/'), key);
    const id = await outbox.event(notificationId, 'tx-1');
    const next = await outbox.event(notificationId, 'tx-1');
    const delivery = outbox.deliver();
    await waitFor('the first attempt', () => receiver.requests[0]);
    await delivery.stop(AbortSignal.abort());
    await outbox.reopen();
    hang = false;
    outbox.deliver();
    await waitFor('both deliveries', () => outbox.logged('webhook delivered')[1]);
    assert.deepEqual(receiver.requests.map(idOf), [id, id, next]);
    assert.equal(outbox.logged('webhook delivered')[0]?.fields.attempt, 1);
  });

  it('delivery: continues retries after a restart', async (test) => {
    const receiver = await startHttpReceiver(test, (response) => response.writeHead(receiver.requests.length === 1 ? 500 : 200).end());
    const outbox = await openOutbox(test);
    await outbox.event(await outbox.notification(receiver.url('/')), 'tx-1');
    const delivery = outbox.deliver({ retrySeconds: [0.5] });
    await waitFor('the failure', () => outbox.logged('webhook failed; will retry')[0]);
    await delivery.stop(AbortSignal.timeout(5000));
    await outbox.reopen();
    outbox.deliver({ retrySeconds: [0.5] });
    const delivered = await waitFor('the delivery', () => outbox.logged('webhook delivered')[0]);
    assert.equal(delivered.fields.attempt, 2);
  });

  it('delivery: stops after the running request is answered and starts no other', async (test) => {
    const waiting: ServerResponse[] = [];
    const receiver = await startHttpReceiver(test, (response) => waiting.push(response));
    const outbox = await openOutbox(test);
    const notificationId = await outbox.notification(receiver.url('/'));
    await outbox.event(notificationId, 'tx-1');
    await outbox.event(notificationId, 'tx-1');
    const delivery = outbox.deliver();
    const response = await waitFor('the first attempt', () => waiting[0]);
    const stopped = delivery.stop(AbortSignal.timeout(10_000));
    response.end();
    await stopped;
    assert.equal(outbox.logged('webhook delivered').length, 1);
    assert.equal(receiver.requests.length, 1);
    const left = await outbox.store.read.dueEvents(notificationId, Date.now(), 10);
    assert.equal(left.length, 1);
  });

  it('delivery: tries an event again whose target is not allowed, without connecting', async (test) => {
    const receiver = await startHttpReceiver(test, ok);
    const outbox = await openOutbox(test);
    await outbox.event(await outbox.notification(`http://hooks.acme.com:${receiver.port}/`), 'tx-1');
    const resolve = async () => [{ address: '127.0.0.1', family: 4 }];
    outbox.deliver({ allowPrivateTargets: false, resolve, retrySeconds: [0.01, 0.01] });
    const given = await waitFor('the end', () => outbox.logged('webhook failed; no more delivery attempts')[0]);
    assert.deepEqual(
      [given.fields.attempt, given.fields.error],
      [3, 'the host name does not resolve to a public address; set a public URL'],
    );
    assert.equal(receiver.requests.length, 0);
  });

  it('delivery: drops the events of a notification that is deleted during an attempt', async (test) => {
    const waiting: ServerResponse[] = [];
    const receiver = await startHttpReceiver(test, (response) => waiting.push(response));
    const outbox = await openOutbox(test);
    const notificationId = await outbox.notification(receiver.url('/'));
    await outbox.event(notificationId, 'tx-1');
    await outbox.event(notificationId, 'tx-1');
    const delivery = outbox.deliver();
    const response = await waitFor('the first attempt', () => waiting[0]);
    const writer = definitionWriterOf(outbox.store);
    const { exclusively } = writer;
    await deleteNotification({ store: outbox.store, relayersUsing: () => [], exclusively, writer }, notificationId);
    response.writeHead(500).end();
    await delivery.stop(AbortSignal.timeout(5000));
    assert.equal(receiver.requests.length, 1);
    assert.equal(await outbox.isEmpty(), true);
    assert.deepEqual(outbox.logged('cannot store the outcome of a webhook delivery; will retry'), []);
  });

  it('delivery: the work on a slice ends although no outcome can be stored, and the event is posted again where it begins next', async (test) => {
    const receiver = await startHttpReceiver(test, ok);
    const outbox = await openOutbox(test);
    await outbox.event(await outbox.notification(receiver.url('/')), 'tx-1');
    // As of an instance that was removed, which joins again when all its work has ended.
    const commit = () => Promise.reject(new StoreAwayError('the database is unavailable'));
    const removed = outbox.deliver({ store: { ...outbox.store, commit } });
    const failure = 'cannot store the outcome of a webhook delivery; will retry';
    await waitFor('the outcome to be refused', () => outbox.logged(failure)[0]);
    await Promise.all([...removed.works.values()].map((work) => work.end()));
    assert.equal(await outbox.isEmpty(), undefined);
    outbox.deliver();
    await waitFor('the outbox to be empty', outbox.isEmpty);
    assert.equal(receiver.requests.length, 2);
  });

  it('delivery: a slice that another instance has taken over ends at once; its running post stores nothing, and the event is posted again', async (test) => {
    const waiting: ServerResponse[] = [];
    const receiver = await startHttpReceiver(test, (response) => waiting.push(response));
    const outbox = await openOutbox(test);
    const notificationId = await outbox.notification(receiver.url('/'));
    const first = await outbox.event(notificationId, 'tx-1');
    const second = await outbox.event(notificationId, 'tx-1');
    const { works, wake } = outbox.deliver();
    const late = await waitFor('the first post', () => waiting[0]);
    await Promise.all([...works.values()].map((work) => work.end(true)));
    await Promise.all([...works.values()].map((work) => work.begin()));
    wake();
    await assert.rejects(
      waitFor('the event to be posted beside its running post', () => waiting[1], 300),
      /in vain/,
    );
    late.end();
    (await waitFor('the second post', () => waiting[1])).end();
    (await waitFor('the third post', () => waiting[2])).end();
    await waitFor('the outbox to be empty', outbox.isEmpty);
    assert.deepEqual(receiver.requests.map(idOf), [first, first, second]);
  });

  it('delivery: drops an event whose notification was deleted before its commit', async (test) => {
    const outbox = await openOutbox(test);
    await outbox.event('gone', 'tx-1');
    outbox.deliver();
    await waitFor('the outbox to be empty', outbox.isEmpty);
    assert.equal(outbox.logged('webhook dropped: its notification was deleted').length, 1);
  });
});
