import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import Sqlite from 'better-sqlite3';
import { openStore } from '../../src/storage/open-store.js';
import { anEvent, silentLog } from '../support/stored-samples.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const megabyte = 1024 * 1024;

it('the log of SQLite, grown under an open reader, shrinks after the reader has ended', async (test) => {
  const file = join(await temporaryFolder(), 'relayer.db');
  const { store, logBytes } = await openStore(`sqlite:${file}`, { log: silentLog });
  test.after(() => store.close());
  let events = 0;
  const write = async (megabytes: number) => {
    for (let written = 0; written < megabytes; written += 1) {
      events += 1;
      await store.commit([store.change.insertEvent(anEvent({ id: `${events}`, orderKey: `${events}`, body: 'x'.repeat(megabyte) }))]);
    }
  };
  const reader = new Sqlite(file, { readonly: true });
  reader.exec('begin; select * from events');
  await write(24);
  assert.ok(logBytes() > 24 * megabyte, `${logBytes()}`);
  reader.close();
  // The first commits complete the checkpoint, and the next one begins the log again.
  await write(6);
  assert.ok(logBytes() <= 16 * megabyte, `${logBytes()}`);
});
