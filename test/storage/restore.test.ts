import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { openStore } from '../../src/storage/open-store.js';
import { restore } from '../../src/storage/restore.js';
import { sqliteDriver } from '../../src/storage/sqlite/driver.js';
import { backUpSqlite } from '../../src/storage/sqlite/sqlite-backup.js';
import { aTransaction, silentLog } from '../support/stored-samples.js';
import { temporaryFolder } from '../support/temporary-folder.js';

it('a restore whose copy another program reads puts nothing in place, since a part of it would be missing', async (test) => {
  const folder = await temporaryFolder();
  const file = join(folder, 'relayer.db');
  const { store } = await openStore(`sqlite:${file}`, { log: silentLog });
  await store.commit([store.change.insertTransaction(aTransaction({ id: '1' }))]);
  await store.close();
  const [backup, target] = [join(folder, 'backup.db'), join(folder, 'restored.db')];
  await backUpSqlite(file, backup);
  const restoring = restore(`sqlite:${target}`, backup, silentLog);
  restoring.catch(() => undefined);
  while (!existsSync(`${target}.partial-wal`)) await setImmediate();
  const reader = new (sqliteDriver())(`${target}.partial`, { readonly: true });
  test.after(() => reader.close());
  reader.exec('begin; select * from transactions');
  await assert.rejects(restoring, /another program uses it, or the disk is full; nothing was restored/);
  assert.equal(existsSync(target), false);
});
