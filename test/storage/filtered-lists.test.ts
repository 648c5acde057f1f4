import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import { openStore } from '../../src/storage/open-store.js';
import { sqliteDriver } from '../../src/storage/sqlite/driver.js';
import { aTransaction, silentLog } from '../support/stored-samples.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const count = 120_000;

it('a list by label reads a bounded number of transactions, and says so if too few of them match', async (test) => {
  const file = join(await temporaryFolder(), 'relayer.db');
  const first = await openStore(`sqlite:${file}`, { log: silentLog });
  const tags = { externalId: null, labels: [{ key: 'env', value: 'prod' }] };
  await first.store.commit([
    first.store.change.insertTransaction({ ...aTransaction({ id: 'many-0', relayerId: 'many' }), status: 'failed', tags }),
  ]);
  await first.store.close();
  const db = new (sqliteDriver())(file);
  const columns = db.prepare<unknown[], { name: string }>("select name from pragma_table_info('transactions') where name <> 'seq'").all();
  const copied: Readonly<Record<string, string>> = {
    id: `'many-' || value`,
    status: `'confirmed'`,
    ordinal: 'ordinal + value',
    position: 'position + value',
  };
  const names = columns.map(({ name }) => name);
  db.exec(`with recursive numbers(value) as (select 1 union all select value + 1 from numbers where value < ${count})
    insert into transactions (${names.join()}) select ${names.map((name) => copied[name] ?? name).join()} from numbers, transactions where id = 'many-0'`);
  db.exec(`insert into transaction_labels select relayer_id, 'env:prod', seq from transactions where id <> 'many-0'`);
  db.close();
  const { store } = await openStore(`sqlite:${file}`, { log: silentLog });
  test.after(() => store.close());
  const list = (status: 'failed' | 'confirmed', offset = 0) =>
    store.read.filteredTransactions(['many'], { statuses: [status], label: 'env:prod' }, { offset, limit: 10 });
  const confirmed = await list('confirmed');
  assert.deepEqual([confirmed.items.length, confirmed.total, confirmed.hasMore], [10, 1_000, true]);
  const reason =
    /^label leads through more than 100000 transactions, of which too few match; limit the list by created_after and created_before$/;
  await assert.rejects(list('failed'), ({ message }: Error) => reason.test(message));
  await assert.rejects(list('confirmed', 1_000_000_000), ({ message }: Error) => reason.test(message));
  const deep = await list('confirmed', 90_000);
  assert.deepEqual([deep.items.length, deep.hasMore], [10, true]);
});
