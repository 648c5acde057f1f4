import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ConflictError } from '../../src/core/ports/store/change.js';
import type { Store } from '../../src/core/ports/store/store.js';
import { openStatuses, type Transaction } from '../../src/core/records/transaction.js';
import { removeOldest } from '../../src/core/transaction/transaction-cleaner.js';
import { openStore } from '../../src/storage/open-store.js';
import { createRandom } from '../support/seeded-random.js';
import { anAttempt, anEvent, aTransaction, next, silentLog } from '../support/stored-samples.js';

function ids(items: readonly { readonly transaction: Transaction }[]): string[] {
  return items.map(({ transaction }) => transaction.id);
}

/** The behavior of every store when finished transactions are removed. */
export function removalContract(name: string, newDatabaseUrl: () => Promise<string>): void {
  describe(`${name}: removal of finished transactions`, () => {
    let store: Store;
    before(async () => {
      store = (await openStore(await newDatabaseUrl(), { log: silentLog })).store;
    });
    after(() => store.close());

    test('pages keep the exact total and order while finished transactions are removed', async () => {
      const { change, read } = store;
      const random = createRandom(7);
      const relayerId = 'removed';
      /** The transactions that pages must list, oldest first. */
      let kept: Transaction[] = [];
      let count = 0;
      const add = async (): Promise<void> => {
        const transaction = aTransaction({ id: `removed-${count}`, relayerId });
        count += 1;
        kept.push(transaction);
        await store.commit([change.insertTransaction(transaction)]);
      };
      const finish = async (endedAtMs: number): Promise<void> => {
        const open = kept.filter(({ status }) => status === 'pending');
        const chosen = open[random.between(0, open.length - 1)];
        if (chosen === undefined) return;
        const ended = next(chosen, { status: random.chance(0.5) ? 'confirmed' : 'failed' });
        kept = kept.map((transaction) => (transaction === chosen ? ended : transaction));
        endedAt.set(ended.id, endedAtMs);
        await store.commit([change.updateTransaction(ended, { endedAtMs })]);
      };
      const endedAt = new Map<string, number>();
      for (let nowMs = 1; nowMs <= 60; nowMs += 1) {
        for (let adds = random.between(0, 8); adds > 0; adds -= 1) await add();
        for (let ends = random.between(0, 8); ends > 0; ends -= 1) await finish(nowMs);
        if (random.chance(0.5)) {
          const beforeMs = nowMs - random.between(0, 9);
          const oldest = await read.oldestTransactions(relayerId, random.between(1, 40));
          const removal = removeOldest(change, relayerId, oldest, beforeMs);
          const gone = new Set(oldest.filter(({ id }) => (endedAt.get(id) ?? nowMs + 1) < beforeMs).map(({ id }) => id));
          assert.equal(removal.removed, gone.size);
          if (removal.changes.length > 0) await store.commit(removal.changes);
          kept = kept.filter(({ id }) => !gone.has(id));
        }
        const newestFirst = kept.map(({ id }) => id).reverse();
        const offset = random.between(0, 19);
        const page = await read.transactionsOf(relayerId, [], { offset, limit: 15 });
        assert.deepEqual([ids(page.items), page.total], [newestFirst.slice(offset, offset + 15), kept.length]);
        const done = kept.filter(({ status }) => status === 'confirmed');
        const some = await read.transactionsOf(relayerId, ['confirmed'], { offset: 1, limit: 10 });
        const doneIds = done.map(({ id }) => id).reverse();
        assert.deepEqual([ids(some.items), some.total], [doneIds.slice(1, 11), done.length]);
        const open = kept.filter(({ status }) => status === 'pending');
        assert.equal((await read.transactionsOf(relayerId, openStatuses, { offset: 0, limit: 1 })).total, open.length);
      }
      assert.ok(count - kept.length > 50, 'the test must remove many transactions');
    });

    test('pages start again from the first after all transactions of a relayer are removed', async () => {
      const { change, read } = store;
      const all = ['e-0', 'e-1'].map((id) => aTransaction({ id, relayerId: 'emptied', status: 'failed', updatedAtMs: 1 }));
      await store.commit(all.map((transaction) => change.insertTransaction(transaction)));
      assert.ok((await read.relayersWithFinished()).includes('emptied'));
      await store.commit(removeOldest(change, 'emptied', await read.oldestTransactions('emptied', 10), 2).changes);
      assert.deepEqual(await read.transactionsOf('emptied', [], { offset: 0, limit: 10 }), { items: [], total: 0 });
      assert.deepEqual(await read.transactionsOf('emptied', ['failed'], { offset: 0, limit: 10 }), { items: [], total: 0 });
      assert.ok(!(await read.relayersWithFinished()).includes('emptied'));
      const fresh = aTransaction({ id: 'e-2', relayerId: 'emptied' });
      await store.commit([change.insertTransaction(fresh)]);
      assert.deepEqual(ids((await read.transactionsOf('emptied', [], { offset: 0, limit: 10 })).items), ['e-2']);
    });

    test('removeTransaction deletes its attempts and its finished deliveries, and nothing else', async () => {
      const { change, read } = store;
      const lane = { chain: 'evm:6', account: '0xD' };
      const gone = aTransaction({ ...lane, id: 'gone', relayerId: 'cleaned', status: 'failed', updatedAtMs: 5 });
      const other = aTransaction({ ...lane, id: 'stays', relayerId: 'cleaned', status: 'sent', nonce: 1n, liveVersion: 1 });
      const events = [
        anEvent({ id: 'g-done', orderKey: 'gone', status: 'delivered', notificationId: 'g' }),
        anEvent({ id: 'g-dead', orderKey: 'gone', status: 'dead', notificationId: 'g' }),
        anEvent({ id: 'g-due', orderKey: 'gone', notificationId: 'g' }),
        anEvent({ id: 'g-other', orderKey: 'stays', status: 'delivered', notificationId: 'g' }),
      ];
      await store.commit([
        change.insertTransaction(gone),
        change.insertTransaction(other),
        change.insertAttempt(anAttempt({ ...lane, transactionId: 'gone', nonce: 0n })),
        change.insertAttempt(anAttempt({ ...lane, transactionId: 'stays', nonce: 1n })),
        ...events.map((event) => change.insertEvent(event)),
      ]);
      await store.commit(removeOldest(change, 'cleaned', await read.oldestTransactions('cleaned', 10), 6).changes);
      assert.equal(await read.transaction('gone'), undefined);
      assert.deepEqual((await read.slot(lane, 0n)).versions, []);
      assert.equal(await read.transactionIdAt(lane, 0n), undefined);
      assert.equal((await read.slot(lane, 1n)).versions.length, 1);
      const left = await read.deliveries('g', { offset: 0, limit: 10 });
      assert.deepEqual(
        left.items.map(({ event }) => event.id),
        ['g-other', 'g-due'],
      );
    });

    test('a transaction that is open, or whose slot an open transaction shares, is not removed', async () => {
      const { change, read } = store;
      const lane = { chain: 'evm:7', account: '0xE' };
      const ended = aTransaction({
        ...lane,
        id: 'ended',
        relayerId: 'shared',
        status: 'failed',
        nonce: 3n,
        liveVersion: 1,
        updatedAtMs: 5,
      });
      const heir = aTransaction({ ...lane, id: 'heir', relayerId: 'shared', status: 'sent', nonce: 3n, liveVersion: 2 });
      await store.commit([
        change.insertTransaction(ended),
        change.insertTransaction(heir),
        change.insertAttempt(anAttempt({ ...lane, transactionId: 'ended', nonce: 3n })),
        change.insertAttempt(anAttempt({ ...lane, transactionId: 'heir', nonce: 3n, version: 2 })),
      ]);
      const oldest = await read.oldestTransactions('shared', 10);
      assert.deepEqual(oldest, [
        { id: 'ended', place: 1, endedAtMs: 5, isNeeded: true },
        { id: 'heir', place: 2, endedAtMs: null, isNeeded: false },
      ]);
      assert.equal(removeOldest(change, 'shared', oldest, 6).removed, 0);
      for (const wrong of [
        change.removeTransaction(heir),
        change.removeTransaction({ ...heir, id: 'unknown' }),
        change.moveTransaction('ended', 1, 2),
      ]) {
        await assert.rejects(store.commit([wrong]), ConflictError);
      }
      await store.commit([
        change.updateTransaction(next(heir, { status: 'confirmed' }), { endedAtMs: 7 }),
        change.insertReservation('heir', { held: [], contents: [] }),
      ]);
      assert.equal(removeOldest(change, 'shared', await read.oldestTransactions('shared', 10), 8).removed, 1, 'it is not counted yet');
      await store.commit([change.deleteReservation('heir', { held: [], contents: [] })]);
      assert.equal(removeOldest(change, 'shared', await read.oldestTransactions('shared', 10), 8).removed, 2);
    });
  });
}
