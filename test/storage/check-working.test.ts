import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { Store } from '../../src/core/ports/store/store.js';
import { openStore } from '../../src/storage/open-store.js';
import { sqliteDriver } from '../../src/storage/sqlite/driver.js';
import { aTransaction, silentLog } from '../support/stored-samples.js';
import { temporaryFolder } from '../support/temporary-folder.js';

async function opened(test: TestContext): Promise<{ store: Store; damage: (sql: string) => void }> {
  const file = join(await temporaryFolder(), 'relayer.db');
  const { store } = await openStore(`sqlite:${file}`, { log: silentLog });
  test.after(() => store.close());
  const damage = (sql: string) => {
    const other = new (sqliteDriver())(file);
    other.exec(sql);
    other.close();
  };
  return { store, damage };
}

describe('checkWorking', () => {
  it('fails if the transactions cannot be read, though the store can be written', async (test) => {
    const { store, damage } = await opened(test);
    await store.checkWorking();
    damage('alter table transactions rename to elsewhere');
    await assert.rejects(store.checkWorking(), /no such table: transactions/);
    damage('alter table elsewhere rename to transactions');
    await store.checkWorking();
  });

  it('fails after three failed commits in a row, until one succeeds', async (test) => {
    const { store, damage } = await opened(test);
    const insert = (id: string) => store.commit([store.change.insertTransaction(aTransaction({ id }))]);
    damage("create trigger broken before insert on transactions begin select raise(abort, 'broken'); end");
    for (const id of ['1', '2']) await assert.rejects(insert(id), /broken/);
    await store.checkWorking();
    await assert.rejects(insert('3'), /broken/);
    await assert.rejects(store.checkWorking(), /the last 3 commits failed/);
    damage('drop trigger broken');
    await insert('4');
    await store.checkWorking();
  });

  it('needs no write of its own behind a commit that was answered lately', async (test) => {
    const { store, damage } = await opened(test);
    damage("create trigger broken before update on instances begin select raise(abort, 'broken'); end");
    await assert.rejects(store.checkWorking(), /broken/);
    await store.commit([store.change.insertTransaction(aTransaction({ id: '1' }))]);
    await store.checkWorking();
  });

  it('counts no conflicts, which callers cause', async (test) => {
    const { store } = await opened(test);
    const insert = () => store.commit([store.change.insertTransaction(aTransaction({ id: '1' }))]);
    await insert();
    for (let again = 0; again < 5; again++) await assert.rejects(insert(), /conflict/i);
    await store.checkWorking();
  });
});
