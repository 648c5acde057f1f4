import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectSocket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { type AppRig, keys, startAppRig } from '../support/app-rig.js';
import { type EventAnswer, openEvents } from '../support/event-stream.js';
import { apiKey } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

const path = '/api/v1/relayers/r1/transactions/watch';
const transfer = { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: 1 };
const perKey = 50;
/** More than the buffers of a connection hold. */
const largeTransactions = 60;
const largeData = `0x${'00'.repeat(130_000)}`;

describe('watching by server-sent events', () => {
  let rig: AppRig;
  const open = (over: Parameters<typeof openEvents>[2] = {}, query = '') => openEvents(rig.baseUrl, `${path}${query}`, over);

  before(async () => {
    rig = await startAppRig();
  });

  after(() => rig.stop());

  async function send(relayer = 'r1', over: object = {}): Promise<Readonly<Record<string, unknown>>> {
    const answer = await rig.ask('POST', `/api/v1/relayers/${relayer}/transactions`, { body: JSON.stringify({ ...transfer, ...over }) });
    assert.equal(answer.status, 200, answer.text);
    return JSON.parse(answer.text).data;
  }

  async function newKey(scopes: readonly string[]): Promise<{ readonly id: string; readonly key: string }> {
    const { status, text } = await rig.ask('POST', '/api/v1/api-keys', { body: JSON.stringify({ name: 'watcher', scopes }) });
    assert.equal(status, 201, text);
    return JSON.parse(text).data;
  }

  async function next({ events }: EventAnswer) {
    const { value } = await events.next();
    return value ?? assert.fail('the stream ended');
  }

  /** The next event of this transaction: the lane can change any other one at any time. */
  async function nextOf(answer: EventAnswer, id: unknown) {
    for (;;) {
      const event = await next(answer);
      if (event.event === 'transaction' && JSON.parse(event.data).id === id) return event;
    }
  }

  async function untilComplete(answer: EventAnswer) {
    let last = await next(answer);
    while (last.event === 'transaction') last = await next(answer);
    return last;
  }

  for (const version of ['1.1', '2'] as const) {
    it(`events over HTTP/${version}: the head forbids storing and buffering, and the data is the record of REST`, async (test) => {
      const record = await send();
      const answer = await open({ version, headers: { accept: 'text/event-stream' } });
      test.after(() => answer.cancel());
      const { 'content-type': type, 'cache-control': cache, 'x-accel-buffering': buffering } = answer.headers;
      assert.deepEqual([answer.status, type, cache, buffering], [200, 'text/event-stream; charset=utf-8', 'no-store', 'no']);
      assert.ok(answer.headers['x-request-id']);
      let shown = JSON.parse((await nextOf(answer, record.id)).data);
      const { data: read } = JSON.parse((await rig.ask('GET', `/api/v1/relayers/r1/transactions/${record.id}`)).text);
      while (shown.revision < read.revision) shown = JSON.parse((await nextOf(answer, record.id)).data);
      assert.deepEqual(shown, read);
      answer.cancel();
      const whole = await open({ version });
      test.after(() => whole.cancel());
      const last = await untilComplete(whole);
      assert.deepEqual([last.event, last.data], ['snapshot_complete', '{}']);
      whole.cancel();
      const later = await send();
      assert.notEqual(later.id, record.id);
      const resumed = await open({ version, headers: { 'last-event-id': last.id ?? '' } });
      test.after(() => resumed.cancel());
      await nextOf(resumed, later.id);
    });
  }

  it('events: the token is also a query parameter; a header comes first, since browsers send both after a reconnection', async (test) => {
    const opened = async (...args: Parameters<typeof open>) => {
      const answer = await open(...args);
      test.after(() => answer.cancel());
      return answer;
    };
    const complete = await opened({}, '?transaction_id=');
    const last = await untilComplete(complete);
    complete.cancel();
    const { id } = await send();
    assert.equal((await rig.ask('DELETE', `/api/v1/relayers/r1/transactions/${id}`)).status, 200);
    const byQuery = await opened({}, `?resume_token=${last.id}`);
    let changed = await nextOf(byQuery, id);
    while (JSON.parse(changed.data).status !== 'canceled') changed = await nextOf(byQuery, id);
    byQuery.cancel();
    // It is final: only the older token shows it once more.
    const both = await opened({ headers: { 'last-event-id': changed.id ?? '' } }, `?resume_token=${last.id}`);
    for (let event = await next(both); event.event !== 'snapshot_complete'; event = await next(both))
      assert.notEqual(JSON.parse(event.data).id, id);
    both.cancel();
  });

  it('events: a watch of a final transaction that was delivered has nothing to come: 204, after which browsers do not connect again', async () => {
    const { id } = await send();
    assert.equal((await rig.ask('DELETE', `/api/v1/relayers/r1/transactions/${id}`)).status, 200);
    const watch = await open({}, `?transaction_id=${id}`);
    const event = await next(watch);
    assert.equal(JSON.parse(event.data).status, 'canceled');
    assert.equal((await watch.events.next()).done, true);
    const again = await open({ headers: { 'last-event-id': event.id ?? '' } }, `?transaction_id=${id}`);
    assert.deepEqual([again.status, await again.text()], [204, '']);
  });

  const missing = '0193a1f0-0000-7000-8000-000000000000';
  for (const [what, where, over, expected] of [
    ['no key', path, { headers: { authorization: '' } }, [401, 'CREDENTIALS_INVALID', 'Unauthorized']],
    ['a key without the scope', path, { key: keys.notifier }, [403, 'SCOPE_MISSING', 'Forbidden']],
    ['a key for another relayer', path, { key: keys.onlyR2 }, [403, 'RELAYER_NOT_ALLOWED', 'Forbidden']],
    ['an unknown relayer', path.replace('r1', 'r9'), {}, [404, 'RELAYER_NOT_FOUND', 'Not found']],
    ['an unknown transaction', `${path}?transaction_id=${missing}`, {}, [404, 'TRANSACTION_NOT_FOUND', 'Not found']],
    ['an unknown token', path, { headers: { 'last-event-id': 'x' } }, [400, 'RESUME_TOKEN_EXPIRED', 'Bad Request']],
    ['an unknown parameter', `${path}?status=sent`, {}, [400, 'FIELD_UNKNOWN', 'Bad Request']],
  ] as const) {
    it(`events: ${what} is the envelope of an error, not an event`, async () => {
      for (const version of ['1.1', '2'] as const) {
        const answer = await openEvents(rig.baseUrl, where, { version, ...over });
        const { success, message } = JSON.parse(await answer.text());
        assert.deepEqual([answer.status, answer.headers['x-error-reason'], message], expected);
        assert.deepEqual([success, answer.headers['content-type']], [false, 'application/json']);
      }
    });
  }

  it('events: HEAD has the head of GET and ends; other verbs are 405; Accept changes nothing', async () => {
    const head = await open({ method: 'HEAD' });
    assert.deepEqual([head.status, head.headers['content-type'], await head.text()], [200, 'text/event-stream; charset=utf-8', '']);
    assert.equal((await openEvents(rig.baseUrl, `${path}?transaction_id=${missing}`, { method: 'HEAD' })).status, 404);
    // Below, `watch` is the id of a transaction.
    assert.equal((await rig.ask('POST', path, { body: '{}' })).status, 405);
    const json = await open({ headers: { accept: 'application/json' } });
    assert.equal(json.headers['content-type'], 'text/event-stream; charset=utf-8');
    json.cancel();
  });

  it('events: a key that is deleted ends its stream with the event error', async () => {
    const { id, key } = await newKey(['transactions:read']);
    const answer = await open({ key });
    await untilComplete(answer);
    assert.equal((await rig.ask('DELETE', `/api/v1/api-keys/${id}`)).status, 200);
    let error = await next(answer);
    while (error.event === 'transaction') error = await next(answer);
    assert.deepEqual([error.event, error.id, JSON.parse(error.data).message], ['error', undefined, 'Unauthorized']);
    assert.equal((await answer.events.next()).done, true);
  });

  it('events: a key has 50 streams with those of RPC; those of callers that left do not count', async () => {
    const { key } = await newKey(['transactions:read']);
    const answers = await Promise.all(Array.from({ length: perKey + 1 }, () => open({ key })));
    const refused = answers.filter(({ status }) => status !== 200);
    assert.deepEqual(
      refused.map(({ status, headers }) => [status, headers['x-error-reason']]),
      [[429, 'TOO_MANY_STREAMS']],
    );
    for (const answer of answers) answer.cancel();
    await waitFor('room for another', async () => {
      const answer = await open({ key });
      answer.cancel();
      return answer.status === 200 || undefined;
    });
  });

  it('events: a reader that does not read holds nothing up, and gets the last state of each record', async () => {
    for (let sent = 0; sent < largeTransactions; sent += 1) await send('r2', { data: largeData });
    const answer = await openEvents(rig.baseUrl, path.replace('r1', 'r2'));
    // Nothing is read: the body waits in the buffers of the connection, and the service waits for them.
    assert.equal((await rig.ask('DELETE', '/api/v1/relayers/r2/transactions/pending')).status, 200);
    const statuses = new Map<string, string>();
    for await (const { event, data } of answer.events) {
      if (event !== 'transaction') continue;
      const { id, status } = JSON.parse(data);
      statuses.set(id, status);
      if (statuses.size === largeTransactions && [...statuses.values()].every((one) => one === 'canceled')) break;
    }
    answer.cancel();
  });

  it('events: pipelined requests on a connection that closes free their places', async () => {
    const request = `GET ${path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${apiKey}\r\n\r\n`;
    for (let round = 0; round < perKey; round += 1) {
      const socket = connectSocket(rig.port, '127.0.0.1').on('error', () => undefined);
      socket.write(request + request);
      await once(socket, 'data');
      socket.resetAndDestroy();
    }
    await waitFor('room for another', async () => {
      const answer = await open();
      answer.cancel();
      return answer.status === 200 || undefined;
    });
  });
});

describe('silent events', () => {
  it('events: heartbeats follow, each with an id; a stop is the event error', async () => {
    const rig = await startAppRig({ watchHeartbeatMs: 50 });
    const answer = await openEvents(rig.baseUrl, path);
    const seen: string[] = [];
    let stopped: Promise<void> | undefined;
    for await (const { event, id, data } of answer.events) {
      assert.equal(id === undefined, event === 'error');
      seen.push(event);
      if (seen.length === 3) stopped = rig.stop();
      if (event === 'error') assert.equal(JSON.parse(data).message, 'Service Unavailable');
    }
    await stopped;
    assert.deepEqual(seen.slice(0, 3), ['snapshot_complete', 'heartbeat', 'heartbeat']);
    assert.equal(seen.at(-1), 'error');
  });
});
