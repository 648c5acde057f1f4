import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parseEther } from 'ethers';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { rest, rpcCallers } from '../support/callers.js';
import { createServiceHome, type RunningService, type ServiceHome, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';
import { type Watch, type Watcher, type WatchMessage, watchersByName } from '../support/watchers.js';

const transfer = { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: '1' };
const order = ['PENDING', 'SENT', 'SUBMITTED', 'MINED', 'CONFIRMED'];

describe('watch, find by nonce, cancel all', () => {
  let anvil: Anvil;
  let home: ServiceHome;
  let service: RunningService;
  let watchers: readonly Watcher[];

  before(async () => {
    anvil = await startAnvil({ noMining: true });
    home = await createServiceHome({ rpcUrl: anvil.url, policies: { max_in_flight: 2 } });
    await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('1000').toString(16)}`]);
    service = await startService(home);
    watchers = Object.values(watchersByName).map((create) => create(service.baseUrl));
  });

  after(async () => {
    for (const watcher of watchers ?? []) watcher.close();
    await service?.stop();
    await anvil?.stop();
    await home?.remove();
  });

  async function send(): Promise<string> {
    const answer = await rest(service.baseUrl, 'POST', '/relayers/r1/transactions', transfer);
    assert.equal(answer.status, 200, answer.text);
    return answer.body.data.id;
  }

  // biome-ignore lint/suspicious/noExplicitAny: a record of REST
  async function until(id: string, ...statuses: readonly string[]): Promise<any> {
    return waitFor(`${id} to be ${statuses}`, async () => {
      const { data } = (await rest(service.baseUrl, 'GET', `/relayers/r1/transactions/${id}`)).body;
      return statuses.includes(data.status) ? data : undefined;
    });
  }

  for (const [index, protocol] of Object.keys(watchersByName).entries()) {
    it(`watch one with ${protocol}: streams the record, each change until it is final, then ends`, async () => {
      const watcher = watchers[index];
      assert.ok(watcher);
      const id = await send();
      await until(id, 'submitted');
      const seen: string[] = [];
      for await (const one of watcher.watch({ transactionId: id })) {
        assert.equal(one.id, id);
        if (seen.length === 0) await anvil.mine();
        seen.push(one.status);
      }
      assert.equal(seen[0], 'SUBMITTED');
      assert.equal(seen.at(-1), 'CONFIRMED');
      assert.deepEqual(
        seen,
        order.filter((status) => seen.includes(status)),
      );
      // A transaction that is already final is delivered once.
      const again: string[] = [];
      for await (const { status } of watcher.watch({ transactionId: id })) again.push(status);
      assert.deepEqual(again, ['CONFIRMED']);
    });

    it(`watch a relayer with ${protocol}: streams its open transactions, that they are complete, then every change`, async () => {
      const watcher = watchers[index];
      assert.ok(watcher);
      const open = [await send(), await send()];
      for (const id of open) await until(id, 'submitted');
      const watch = watcher.watch();
      const seen: WatchMessage[] = [];
      let later: string | undefined;
      for await (const one of watch) {
        seen.push(one);
        if (seen.length === 3) {
          later = await send();
          await anvil.mine();
        }
        if (one.id === later && one.status === 'SUBMITTED') await anvil.mine();
        if (one.id === later && one.status === 'CONFIRMED') break;
      }
      watch.cancel();
      assert.deepEqual(
        seen.slice(0, 3).map(({ event, id, status }) => [event, id, status]),
        [...open.map((id) => ['transaction', id, 'SUBMITTED']), ['snapshot_complete', '', '']],
      );
      for (const id of [...open, later]) {
        const statuses = seen.filter((one) => one.id === id).map(({ status }) => status);
        assert.equal(statuses.at(-1), 'CONFIRMED');
        assert.ok(statuses.every((status, at) => at === 0 || order.indexOf(status) >= order.indexOf(statuses[at - 1] ?? '')));
      }
      assert.equal(seen.find(({ id }) => id === later)?.status, 'PENDING');
    });

    it(`watch with ${protocol}: an unknown transaction is NOT_FOUND, and garbage for a token FAILED_PRECONDITION`, async () => {
      const watcher = watchers[index];
      assert.ok(watcher);
      await assert.rejects(read(watcher.watch({ transactionId: '0193a1f0-0000-7000-8000-000000000000' })), { message: 'NOT_FOUND' });
      await assert.rejects(read(watcher.watch({ resumeToken: 'garbage' })), { message: 'FAILED_PRECONDITION' });
    });
  }

  it('find by nonce: every protocol returns the transaction', async () => {
    const id = await send();
    const { nonce } = await until(id, 'submitted');
    const byNonce = (text: string | number) => rest(service.baseUrl, 'GET', `/relayers/r1/transactions/by-nonce/${text}`);
    const found = await byNonce(nonce);
    assert.deepEqual([found.status, found.body.data.id, found.body.data.nonce], [200, id, nonce]);
    const missing = await byNonce(4_000_000);
    assert.deepEqual([missing.status, missing.headers.get('x-error-reason')], [404, 'TRANSACTION_NOT_FOUND']);
    assert.equal(missing.body.message, 'Not found');
    for (const bad of ['-1', '1.5', 'first', '18446744073709551616', '%20']) {
      const refused = await byNonce(bad);
      assert.deepEqual([bad, refused.status, refused.headers.get('x-error-reason')], [bad, 400, 'FIELD_INVALID']);
      assert.match(refused.body.error, /nonce/);
    }
    for (const caller of rpcCallers(service.baseUrl)) {
      const outcome = await caller.call('TransactionService', 'GetTransactionByNonce', { relayer_id: 'r1', nonce: String(nonce) });
      assert.ok(outcome.ok, JSON.stringify(outcome));
      assert.equal((outcome.response.transaction as { id: string }).id, id);
      const none = await caller.call('TransactionService', 'GetTransactionByNonce', { relayer_id: 'r1', nonce: '4000000' });
      assert.ok(!none.ok);
      assert.deepEqual([none.code, none.message], ['NOT_FOUND', 'Transaction with nonce 4000000 not found']);
      caller.close();
    }
    await anvil.mine();
    await until(id, 'confirmed');
  });

  for (const index of [0, 1, 2, 3]) {
    it(`cancel all over ${['REST', 'gRPC', 'gRPC-Web', 'Connect JSON'][index]}: pending transactions end at once, submitted ones are being canceled`, async () => {
      // Two may be in flight, so two of four stay pending.
      const ids = [await send(), await send(), await send(), await send()];
      const submitted = ids.slice(0, 2);
      const pending = ids.slice(2);
      for (const id of submitted) await until(id, 'submitted');
      const result = await deletePending(index);
      assert.deepEqual({ ...result, queued: [...result.queued].sort() }, { queued: [...ids].sort(), failed: [], total: 4 });
      for (const id of pending) assert.equal((await until(id, 'canceled')).nonce, null);
      for (const id of submitted) assert.equal((await until(id, 'submitted', 'sent')).is_canceled, true);
      assert.deepEqual((await deletePending(index)).total, 2);
      await waitFor('the self-transfers at the node', async () => {
        const { pending: pooled } = (await anvil.rpc('txpool_content')) as { pending: Record<string, Record<string, { to: string }>> };
        const receivers = Object.values(pooled).flatMap((byNonce) => Object.values(byNonce).map(({ to }) => to.toLowerCase()));
        return receivers.length === 2 && receivers.every((to) => to === home.address.toLowerCase()) ? true : undefined;
      });
      await anvil.mine();
      for (const id of submitted) await until(id, 'canceled');
      assert.deepEqual(await deletePending(index), { queued: [], failed: [], total: 0 });
    });
  }

  /** By REST (0), gRPC (1), gRPC-Web (2) or Connect JSON (3). */
  async function deletePending(way: number): Promise<{ queued: readonly string[]; failed: readonly string[]; total: number }> {
    if (way === 0) {
      const answer = await rest(service.baseUrl, 'DELETE', '/relayers/r1/transactions/pending');
      assert.equal(answer.status, 200, answer.text);
      return resultOf(answer.body.data);
    }
    const callers = rpcCallers(service.baseUrl);
    try {
      const outcome = await callers[way - 1]?.call('TransactionService', 'CancelPendingTransactions', { relayer_id: 'r1' });
      assert.ok(outcome?.ok, JSON.stringify(outcome));
      return resultOf(outcome.response.result);
    } finally {
      for (const caller of callers) caller.close();
    }
  }

  it('watch: a stop of the service ends its streams, and they do not delay it', async () => {
    const id = await send();
    await until(id, 'submitted');
    const reading = watchers.map(async (watcher) => {
      const seen: string[] = [];
      const watch = watcher.watch({ transactionId: id });
      try {
        for await (const { status } of watch) {
          seen.push(status);
          begun += 1;
        }
        return { seen, end: 'OK' };
      } catch (error) {
        return { seen, end: error instanceof Error ? error.message : String(error) };
      }
    });
    let begun = 0;
    await waitFor('all streams', () => (begun === watchers.length ? true : undefined));
    assert.equal(await service.stop(), 0);
    // Neither callers who left nor the end is an error of the service's.
    assert.doesNotMatch(service.output(), /"level":(50|60)/);
    for (const { seen, end } of await Promise.all(reading)) assert.deepEqual({ seen, end }, { seen: ['SUBMITTED'], end: 'UNAVAILABLE' });
  });
});

async function read(watch: Watch): Promise<readonly WatchMessage[]> {
  const seen: WatchMessage[] = [];
  for await (const one of watch) seen.push(one);
  return seen;
}

// biome-ignore lint/suspicious/noExplicitAny: the clients give untyped JSON
function resultOf(result: any) {
  return {
    queued: result.queued_for_cancellation_transaction_ids ?? [],
    failed: result.failed_to_queue_transaction_ids ?? [],
    total: result.total_processed ?? 0,
  };
}
