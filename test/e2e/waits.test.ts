import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parseEther } from 'ethers';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { type RpcCaller, rest, rpcCallers } from '../support/callers.js';
import { readMetrics, sumOf } from '../support/metrics-text.js';
import { apiKey, createServiceHome, type RunningService, type ServiceHome, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

const content = { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: '1' };

describe('waiting for a transaction', () => {
  let anvil: Anvil;
  let home: ServiceHome;
  let service: RunningService;
  let callers: readonly RpcCaller[];
  let list: string;

  before(async () => {
    anvil = await startAnvil({ noMining: true });
    home = await createServiceHome({ rpcUrl: anvil.url });
    await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('1000').toString(16)}`]);
    service = await startService(home);
    callers = rpcCallers(service.baseUrl);
    list = `/relayers/${home.relayerId}/transactions`;
  });

  after(async () => {
    for (const caller of callers ?? []) caller.close();
    await service?.stop();
    await anvil?.stop();
    await home?.remove();
  });

  const send = async (headers: Record<string, string> = {}) => (await rest(service.baseUrl, 'POST', list, content, headers)).body;
  const submitted = { prefer: 'until=submitted' };
  const wait = (id: string, query: string) => rest(service.baseUrl, 'GET', `${list}/${id}/wait?${query}`);

  it('wait: returns once the state is reached, and at once if it was', async () => {
    const { id } = (await send()).data;
    assert.equal((await wait(id, 'until=submitted')).body.data.status, 'submitted');
    const mined = wait(id, 'until=mined&timeout_seconds=60');
    const isOver = await Promise.race([mined.then(() => true), wait(id, 'until=mined&timeout_seconds=1').then(() => false)]);
    assert.equal(isOver, false);
    await anvil.mine(1);
    assert.match((await mined).body.data.status, /^(?:mined|confirmed)$/);
    const final = wait(id, 'until=final&timeout_seconds=60');
    await anvil.mine(3);
    assert.equal((await final).body.data.status, 'confirmed');
    for (const until of ['submitted', 'mined', 'confirmed', 'final']) {
      const { body } = await wait(id, `until=${until}`);
      assert.equal(body.data.status, 'confirmed');
      assert.equal(body.metadata, undefined);
    }
  });

  it('wait: at the end of the time the record is returned as it is, and a log entry says so', async () => {
    const { id } = (await send()).data;
    await wait(id, 'until=submitted');
    const { status, body } = await wait(id, 'until=mined&timeout_seconds=1');
    assert.deepEqual([status, body.data.status], [200, 'submitted']);
    assert.match(body.metadata.logs[0].message, /the wait for mined is over, and the transaction is still submitted/);
    assert.equal((await wait(id, 'until=mined&timeout_seconds=0')).body.data.status, 'submitted');
    await anvil.mine(1);
  });

  it('wait: wrong parameters are 400, an unknown transaction is 404', async () => {
    const { id } = (await send()).data;
    for (const [query, words] of [
      ['until=tomorrow', /until must be one of submitted, mined, confirmed, final/],
      ['timeout_seconds=121', /timeout_seconds must be/],
      ['timeout_seconds=-1', /timeout_seconds must be/],
      ['seconds=1', /seconds is not a known query parameter/],
    ] as const) {
      const { status, body } = await wait(id, query);
      assert.equal(status, 400, query);
      assert.match(body.error, words);
    }
    assert.equal((await wait('unknown', 'until=mined')).status, 404);
    await anvil.mine(1);
  });

  it('wait: over gRPC, gRPC-Web and Connect JSON', async () => {
    for (const caller of callers) {
      const { id } = (await send()).data;
      const request = { relayer_id: home.relayerId, transaction_id: id, until: 'WAIT_UNTIL_SUBMITTED' };
      const answer = await caller.call('TransactionService', 'WaitTransaction', request);
      assert.ok(answer.ok, `${caller.protocol}: ${JSON.stringify(answer)}`);
      assert.equal((answer.response.transaction as { status: string }).status, 'TRANSACTION_STATUS_SUBMITTED');
    }
    await anvil.mine(1);
  });

  it('send and replace: wait if the caller asks for it, by the body or by Prefer', async () => {
    assert.equal((await send(submitted)).data.status, 'submitted');
    assert.equal((await send({ prefer: 'respond-async, wait=20; until="submitted"' })).data.status, 'submitted');
    const { data, metadata } = await send({ prefer: 'wait=1' });
    assert.match(data.status, /^(?:sent|submitted)$/);
    assert.match(metadata.logs[0].message, /the wait for mined is over/);
    const replacing = rest(service.baseUrl, 'PUT', `${list}/${data.id}`, { ...content, value: '2' }, { prefer: 'wait=999' });
    const waiting = wait(data.id, 'timeout_seconds=60');
    while ((await rest(service.baseUrl, 'GET', `${list}/${data.id}`)).body.data.value !== '2');
    await anvil.mine(1);
    const replaced = (await replacing).body.data;
    assert.match(replaced.status, /^(?:mined|confirmed)$/);
    // The block may hold the earlier attempt, if the replacement was not at the node yet.
    assert.equal((await waiting).body.data.value, replaced.value);
    const others = ['wait', 'handling=lenient', 'awaits=5', 'until=confirmd', 'wait=soon', 'wait=-1', 'wait=30s', 'wait=1.5', 'wait=""'];
    for (const prefer of others) assert.equal((await send({ prefer })).data.status, 'pending', prefer);
    for (const caller of callers) {
      const evm = { to: content.to, value: '1' };
      const request = { relayer_id: home.relayerId, evm, wait_until: 'WAIT_UNTIL_SUBMITTED', wait_seconds: 60 };
      const answer = await caller.call('TransactionService', 'SendTransaction', request);
      assert.ok(answer.ok, caller.protocol);
      assert.equal((answer.response.transaction as { status: string }).status, 'TRANSACTION_STATUS_SUBMITTED');
      assert.equal((await caller.call('TransactionService', 'SendTransaction', { ...request, wait_seconds: 121 })).ok, false);
    }
  });

  it('send: a replayed response is as new as the wait', async () => {
    const headers = { 'idempotency-key': 'waits-1', ...submitted };
    const first = await send(headers);
    const again = await send(headers);
    assert.deepEqual([again.data.id, again.data.status], [first.data.id, 'submitted']);
    await anvil.mine(1);
  });

  it('send: while a call waits, its audit line is written and its idempotency key replays, with any wait', async () => {
    const key = { 'idempotency-key': 'waits-2' };
    const first = send({ ...key, prefer: 'wait=60' });
    const found = await waitFor('the transaction', async () => {
      const { body } = await rest(service.baseUrl, 'POST', list, content, { ...key, ...submitted });
      return body.data ?? undefined;
    });
    assert.equal(found.status, 'submitted');
    const isOver = await Promise.race([first.then(() => true), send(key).then(() => false)]);
    assert.equal(isOver, false);
    const lines = service
      .output()
      .split('\n')
      .filter((line) => line.includes('SendTransaction') && line.includes(found.id));
    assert.ok(lines.length >= 2, lines.join('\n'));
    const digests = new Set(lines.map((line) => JSON.parse(line).requestDigest));
    assert.equal(digests.size, 1);
    await anvil.mine(1);
    assert.equal((await first).data.id, found.id);
    const records = (await rest(service.baseUrl, 'GET', `${list}?per_page=100`)).body.data;
    assert.equal(records.filter(({ id }: { id: string }) => id === found.id).length, 1);
    assert.equal((await rest(service.baseUrl, 'POST', list, { ...content, value: '9' }, { ...key, ...submitted })).status, 422);
  });

  it('metrics: the duration of requests is without the waiting', async () => {
    const secondsOf = async (method: string) => {
      const answer = await fetch(`${service.baseUrl}/metrics`, { headers: { authorization: `Bearer ${apiKey}` } });
      return sumOf(readMetrics(await answer.text()), 'relayer_request_duration_seconds_sum', { method });
    };
    const before = await secondsOf('TransactionService.WaitTransaction');
    const { id } = (await send(submitted)).data;
    await wait(id, 'until=mined&timeout_seconds=3');
    assert.ok((await secondsOf('TransactionService.WaitTransaction')) - before < 1);
    await anvil.mine(1);
  });

  it('wait: 300 callers end at once at their deadline, when the transaction is mined, and when the service stops', async () => {
    const { id } = (await send(submitted)).data;
    const waitsInVain = Array.from({ length: 300 }, async () => {
      const startedMs = performance.now();
      const answer = await wait(id, 'until=mined&timeout_seconds=3');
      return { answer, tookMs: performance.now() - startedMs };
    });
    for (const { answer, tookMs } of await Promise.all(waitsInVain)) {
      assert.deepEqual([answer.status, answer.body.data.status], [200, 'submitted']);
      assert.match(answer.body.metadata.logs[0].message, /the wait for mined is over/);
      assert.ok(tookMs >= 2_900 && tookMs < 13_000, `${tookMs} ms`);
    }
    const waits = Array.from({ length: 300 }, () => wait(id, 'until=mined&timeout_seconds=60'));
    await wait(id, 'until=mined&timeout_seconds=1');
    await anvil.mine(1);
    for (const { status, body } of await Promise.all(waits)) {
      assert.equal(status, 200);
      assert.match(body.data.status, /^(?:mined|confirmed)$/);
    }
    const next = (await send(submitted)).data;
    const others = Array.from({ length: 100 }, () => wait(next.id, 'until=mined&timeout_seconds=60'));
    await wait(next.id, 'until=mined&timeout_seconds=1');
    const startedMs = performance.now();
    const stopped = service.stop();
    for (const { status, body } of await Promise.all(others)) assert.deepEqual([status, body.data.status], [200, 'submitted']);
    assert.ok(performance.now() - startedMs < 10_000);
    await stopped;
  });
});
