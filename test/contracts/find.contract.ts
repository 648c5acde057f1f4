import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ConflictError } from '../../src/core/ports/store/change.js';
import type { PageQuery } from '../../src/core/ports/store/page.js';
import type { Store } from '../../src/core/ports/store/store.js';
import type { TransactionFilter } from '../../src/core/ports/store/transactions.js';
import type { Transaction } from '../../src/core/records/transaction.js';
import { openStore } from '../../src/storage/open-store.js';
import { anAttempt, aTransaction, next, sampleLane, silentLog } from '../support/stored-samples.js';

const start = 1_763_600_000_000;
const count = 2_400;
const statuses = ['pending', 'confirmed', 'failed'] as const;

function numbersFrom(from: number, step: number, length = 5): number[] {
  return Array.from({ length }, (_, index) => from - step * index);
}

/** What callers find transactions by, in every store. `newDatabaseUrl` returns the URL of an empty database. */
export function findContract(name: string, newDatabaseUrl: () => Promise<string>): void {
  describe(`${name}: finding transactions`, () => {
    let store: Store;

    function sample(index: number, relayerId = 'many'): Transaction {
      const parity = index % 2 === 0 ? [{ key: 'parity', value: 'even' }] : [];
      return {
        ...aTransaction({ id: `${relayerId}-${String(index).padStart(5, '0')}`, relayerId }),
        status: statuses[index % 3] ?? 'pending',
        createdAtMs: start + index * 1_000,
        tags: { externalId: null, labels: [...parity, { key: 'digit', value: String(index % 10) }] },
      };
    }

    async function found(filter: Partial<TransactionFilter>, page: PageQuery = { offset: 0, limit: 5 }) {
      const { items, ...rest } = await store.read.filteredTransactions(['many'], { statuses: [], ...filter }, page);
      return { numbers: items.map(({ transaction }) => Number(transaction.id.slice(-5))), ...rest };
    }

    async function conflictIn(commit: Promise<void>): Promise<string> {
      const error = await commit.then(
        () => null,
        (thrown: unknown) => thrown,
      );
      assert.ok(error === null || error instanceof ConflictError, String(error));
      return error?.change ?? 'nothing';
    }

    before(async () => {
      store = (await openStore(await newDatabaseUrl(), { log: silentLog })).store;
      for (let index = 0; index < count; index += 400) {
        const some = Array.from({ length: 400 }, (_, offset) => sample(index + offset));
        await store.commit(some.map((transaction) => store.change.insertTransaction(transaction)));
      }
      await store.commit([store.change.insertTransaction(sample(1, 'other'))]);
    });
    after(() => store.close());

    test('a label finds its transactions, newest first, page by page, and counts the first thousand', async () => {
      const even = { label: 'parity:even' };
      assert.deepEqual(await found(even), { numbers: numbersFrom(2398, 2), total: 1_000, hasMore: true });
      assert.deepEqual(await found(even, { offset: 1_195, limit: 10 }), { numbers: numbersFrom(8, 2), total: 1_200 });
      assert.deepEqual((await found(even, { offset: 0, limit: 3, after: 'many-01000' })).numbers, [998, 996, 994]);
      assert.deepEqual(await found(even, { offset: 5_000, limit: 3 }), { numbers: [], total: 1_200 });
      assert.deepEqual(await found({ label: 'parity:odd' }), { numbers: [], total: 0 });
      assert.deepEqual(await found({ label: 'digit:7', statuses: ['failed'] }), { numbers: numbersFrom(2387, 30), total: 80 });
    });

    test('times limit a list, with statuses and labels or without', async () => {
      const hour = { createdFromMs: start + 1_000_000, createdBeforeMs: start + 1_100_000 };
      assert.deepEqual(await found(hour), { numbers: numbersFrom(1099, 1), total: 100 });
      assert.deepEqual(await found(hour, { offset: 98, limit: 5 }), { numbers: [1001, 1000], total: 100 });
      assert.deepEqual(await found({ ...hour, statuses: ['confirmed'] }), { numbers: numbersFrom(1099, 3), total: 34 });
      assert.deepEqual(await found({ ...hour, label: 'digit:3' }), { numbers: numbersFrom(1093, 10), total: 10 });
      assert.deepEqual(await found({ createdFromMs: start + 2_398_000 }), { numbers: [2399, 2398], total: 2 });
      assert.deepEqual(await found({ createdBeforeMs: start + 2_000 }), { numbers: [1, 0], total: 2 });
      assert.deepEqual(await found({ createdBeforeMs: start }), { numbers: [], total: 0 });
      assert.deepEqual(await found({ createdFromMs: start + 10_000_000 }), { numbers: [], total: 0 });
    });

    test('the hash and the nonce of any attempt find a transaction', async () => {
      const [first, second, upper] = ['11', '22', 'aB'].map((pair) => `0x${pair.repeat(32)}`) as [string, string, string];
      const { change } = store;
      await store.commit([
        change.insertAttempt(anAttempt({ transactionId: 'many-00003', nonce: 7n, hash: first })),
        change.insertAttempt(anAttempt({ transactionId: 'many-00003', nonce: 7n, version: 2, hash: second })),
        change.insertAttempt(anAttempt({ transactionId: 'many-00004', nonce: 8n, hash: upper.toLowerCase() })),
      ]);
      assert.deepEqual(await found({ hash: first }), { numbers: [3], total: 1 });
      assert.deepEqual(await found({ hash: second.slice(2) }), { numbers: [3], total: 1 });
      assert.deepEqual(await found({ hash: upper }), { numbers: [4], total: 1 });
      assert.deepEqual(await found({ hash: first, statuses: ['failed'] }), { numbers: [], total: 0 });
      assert.deepEqual(await found({ slots: { lanes: [sampleLane], nonce: 8n } }), { numbers: [4], total: 1 });
      assert.deepEqual(await found({ slots: { lanes: [sampleLane], nonce: 8n }, hash: first }), { numbers: [], total: 0 });
      assert.deepEqual(
        (await store.read.filteredTransactions(['other'], { statuses: [], hash: first }, { offset: 0, limit: 1 })).items,
        [],
      );
    });

    test('a page after a transaction that is no longer in the list repeats nothing', async () => {
      const { change } = store;
      const hash = (index: number) => `0x${String(index).padStart(64, '0')}`;
      await store.commit(
        [12, 15, 18].map((index, version) =>
          change.insertAttempt(anAttempt({ transactionId: `many-000${index}`, nonce: 9n, version: version + 1, hash: hash(index) })),
        ),
      );
      const pending = { statuses: ['pending'], slots: { lanes: [sampleLane], nonce: 9n } } as const;
      assert.deepEqual((await found(pending, { offset: 0, limit: 2 })).numbers, [18, 15]);
      await store.commit([change.updateTransaction(next(sample(15), { status: 'canceled' }))]);
      assert.deepEqual((await found(pending, { offset: 0, limit: 2, after: 'many-00015' })).numbers, [12]);
      assert.deepEqual((await found(pending, { offset: 0, limit: 2, after: 'many-00012' })).numbers, []);
    });

    test('a receiver finds its transactions, also by further receivers and those of replacements', async () => {
      const { change } = store;
      const paid = (index: number) => ({
        ...aTransaction({ id: `paid-${index}`, relayerId: 'paid' }),
        createdAtMs: start + 2_400_000 + index,
      });
      const labels = { externalId: null, labels: [{ key: 'odd', value: 'yes' }] };
      const list = async (receiver: string, filter: Partial<TransactionFilter> = {}, page: PageQuery = { offset: 0, limit: 10 }) => {
        const { items, total } = await store.read.filteredTransactions(['paid'], { statuses: [], receiver, ...filter }, page);
        return [items.map(({ transaction }) => Number(transaction.id.slice(5))), total];
      };
      await store.commit([
        change.insertTransaction(paid(0), ['0xa']),
        change.insertTransaction({ ...paid(1), tags: labels }, ['0xb', '0xa']),
        change.insertTransaction(paid(2)),
        change.insertTransaction({ ...paid(3), status: 'failed' }, ['0xc']),
      ]);
      assert.deepEqual(await list('0xa'), [[1, 0], 2]);
      assert.deepEqual(await list('0xb'), [[1], 1]);
      await store.commit([change.noteReceivers('paid-3', ['0xa', '0xc']), change.noteReceivers('paid-2', ['0xa'])]);
      await store.commit([change.noteReceivers('paid-3', ['0xa'])]);
      assert.deepEqual(await list('0xa'), [[3, 2, 1, 0], 4]);
      assert.deepEqual(await list('0xc'), [[3], 1], 'noted twice, listed once');
      assert.deepEqual(await list('0xa', {}, { offset: 1, limit: 2 }), [[2, 1], 4]);
      assert.deepEqual((await list('0xa', {}, { offset: 0, limit: 2, after: 'paid-2' }))[0], [1, 0]);
      assert.deepEqual(await list('0xa', { statuses: ['failed'] }), [[3], 1]);
      assert.deepEqual(await list('0xa', { label: 'odd:yes' }), [[1], 1]);
      assert.deepEqual(await list('0xa', { createdBeforeMs: start + 2_400_002 }), [[1, 0], 2]);
      const [hash, slots] = [`0x${'77'.repeat(32)}`, { lanes: [sampleLane], nonce: 77n }];
      await store.commit([change.insertAttempt(anAttempt({ transactionId: 'paid-1', nonce: 77n, hash }))]);
      for (const receiver of ['0xa', '0xb']) assert.deepEqual(await list(receiver, { hash, slots }), [[1], 1]);
      assert.deepEqual(await list('0xc', { hash, slots }), [[], 0]);
      await store.commit([change.removeTransaction({ id: 'paid-3', relayerId: 'paid' })]);
      assert.deepEqual(await list('0xa'), [[2, 1, 0], 3]);
      assert.deepEqual(await list('0xc'), [[], 0]);
    });

    test('a list of several relayers is in the order of acceptance, and each page goes on where the one before ended', async () => {
      const { change } = store;
      const relayerIds = Array.from({ length: 150 }, (_, index) => `all-${index}`);
      const samples = Array.from({ length: 600 }, (_, index): Transaction => {
        // Most relayers have few transactions, and one has half of all.
        const relayerId = index % 2 === 0 ? 'all-0' : `all-${index % 150}`;
        const labels = index % 7 === 0 ? [{ key: 'seventh', value: 'yes' }] : [];
        return {
          ...aTransaction({ id: `all-${String(index).padStart(5, '0')}`, relayerId }),
          status: index % 50 === 1 ? 'failed' : 'confirmed',
          createdAtMs: start + 2_500_000 + index * 1_000,
          tags: { externalId: null, labels },
        };
      });
      for (let from = 0; from < samples.length; from += 100)
        await store.commit(
          samples.slice(from, from + 100).map((one, at) => change.insertTransaction(one, [(from + at) % 3 === 0 ? '0x3' : '0x0'])),
        );
      await store.commit(
        [
          change.insertTransaction({ ...aTransaction({ id: 'hidden', relayerId: 'hidden' }), status: 'failed' }, ['0x3']),
          ...['all-3', 'all-5'].map((relayerId, index) => {
            const one = { ...aTransaction({ id: `named-${index}`, relayerId }), tags: { externalId: 'twice', labels: [] } };
            return [change.insertTransaction(one), change.claimExternalId(one, 'twice')];
          }),
        ].flat(),
      );
      const read = async (filter: Partial<TransactionFilter>, page: PageQuery, ids = relayerIds) => {
        const { items, ...rest } = await store.read.filteredTransactions(ids, { statuses: [], ...filter }, page);
        return { ids: items.map(({ transaction }) => transaction.id), ...rest };
      };
      const pages = async (filter: Partial<TransactionFilter>, ids = relayerIds): Promise<string[]> => {
        const all: string[] = [];
        for (;;) {
          const last = all.at(-1);
          const page = await read(filter, { offset: 0, limit: 37, ...(last === undefined ? {} : { after: last }) }, ids);
          all.push(...page.ids);
          if (page.ids.length < 37) return all;
        }
      };
      const expected = (isIn: (index: number, relayerId: string) => boolean) =>
        samples.flatMap(({ id, relayerId }, index) => (isIn(index, relayerId) ? [id] : [])).toReversed();
      assert.deepEqual(await pages({}), ['named-1', 'named-0', ...expected(() => true)]);
      assert.deepEqual(
        await pages({ statuses: ['failed'] }),
        expected((index) => index % 50 === 1),
      );
      assert.deepEqual(
        await pages({ label: 'seventh:yes' }),
        expected((index) => index % 7 === 0),
      );
      assert.deepEqual(
        await pages({ receiver: '0x3' }),
        expected((index) => index % 3 === 0),
      );
      assert.deepEqual(
        await pages({ receiver: '0x3', label: 'seventh:yes' }),
        expected((index) => index % 21 === 0),
      );
      const some = ['all-7', 'all-9', 'all-99'];
      assert.deepEqual(
        await pages({ statuses: ['confirmed', 'failed'] }, some),
        expected((_, relayerId) => some.includes(relayerId)),
      );
      assert.deepEqual(
        await pages({ createdFromMs: start + 3_000_000 }),
        expected((index) => index >= 500),
      );
      assert.deepEqual(await read({ externalId: 'twice' }, { offset: 0, limit: 5 }), { ids: ['named-1', 'named-0'], total: 2 });
      assert.deepEqual((await read({ externalId: 'twice' }, { offset: 0, limit: 5 }, some)).ids, []);
      assert.deepEqual(await read({}, { offset: 0, limit: 5 }, []), { ids: [], total: 0 });
      const third = await read({ receiver: '0x3' }, { offset: 20, limit: 10 });
      assert.deepEqual([third.ids, third.total, third.hasMore], [expected((index) => index % 3 === 0).slice(20, 30), 30, true]);
    });

    test('an external id belongs to one transaction of a relayer for ever, also when that is removed', async () => {
      const { change } = store;
      const tags = { externalId: 'order 1', labels: [{ key: 'gone', value: 'soon' }] };
      const one = { ...aTransaction({ id: 'one', relayerId: 'ids' }), tags };
      await store.commit([change.insertTransaction(one), change.claimExternalId(one, 'order 1')]);
      assert.deepEqual((await store.read.transaction('one'))?.transaction.tags, tags);
      const two = { ...aTransaction({ id: 'two', relayerId: 'ids' }), tags };
      assert.equal(
        await conflictIn(store.commit([change.insertTransaction(two), change.claimExternalId(two, 'order 1')])),
        'claimExternalId',
      );
      assert.equal(await store.read.transaction('two'), undefined, 'nothing is stored');
      assert.equal(await store.read.externalIdHolder('ids', 'order 1'), 'one');
      const elsewhere = { ...two, relayerId: 'ids-2' };
      await store.commit([change.insertTransaction(elsewhere), change.claimExternalId(elsewhere, 'order 1')]);
      const byLabel = async () =>
        (await store.read.filteredTransactions(['ids'], { statuses: [], label: 'gone:soon' }, { offset: 0, limit: 5 })).items.length;
      assert.equal(await byLabel(), 1);
      await store.commit([change.updateTransaction(next(one, { status: 'canceled' })), change.removeTransaction(one)]);
      assert.equal(await byLabel(), 0);
      const three = aTransaction({ id: 'three', relayerId: 'ids' });
      assert.equal(
        await conflictIn(store.commit([change.insertTransaction(three), change.claimExternalId(three, 'order 1')])),
        'claimExternalId',
      );
    });
  });
}
