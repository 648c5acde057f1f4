import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import type Sqlite from 'better-sqlite3';
import { type OpenedStore, openStore } from '../../src/storage/open-store.js';
import { sqliteDriver } from '../../src/storage/sqlite/driver.js';
import { anEvent, silentLog } from '../support/stored-samples.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

const megabyte = 1024 * 1024;

interface LogRig extends Pick<OpenedStore, 'store' | 'logBytes'> {
  /** Commits an event of this size. */
  write(megabytes: number): Promise<void>;
  /** Reads one state of the database until it is closed. */
  readonly reader: Sqlite.Database;
}

async function openLogRig(test: TestContext): Promise<LogRig> {
  const file = join(await temporaryFolder(), 'relayer.db');
  const { store, logBytes } = await openStore(`sqlite:${file}`, { log: silentLog });
  test.after(() => store.close());
  let events = 0;
  const reader = new (sqliteDriver())(file, { readonly: true });
  test.after(() => reader.close());
  reader.exec('begin; select * from events');
  return {
    store,
    logBytes,
    reader,
    async write(megabytes) {
      events += 1;
      const body = 'x'.repeat(megabytes * megabyte);
      await store.commit([store.change.insertEvent(anEvent({ id: `${events}`, orderKey: `${events}`, body }))]);
    },
  };
}

it('the log of SQLite, grown under an open reader, shrinks after the reader has ended', async (test) => {
  const { write, reader, logBytes } = await openLogRig(test);
  await write(24);
  assert.ok(logBytes() > 24 * megabyte, `${logBytes()}`);
  reader.close();
  // The first commits complete the checkpoint, and the next one begins the log again.
  for (let commits = 0; commits < 3; commits += 1) await write(1);
  assert.ok(logBytes() <= 16 * megabyte, `${logBytes()}`);
});

it('a log of SQLite that is too large for a commit to shrink shrinks after the reader has ended, without a commit, and while commits run', async (test) => {
  for (const isIdle of [true, false]) {
    const { write, reader, logBytes, store } = await openLogRig(test);
    await write(40);
    assert.ok(logBytes() > 40 * megabyte, `${logBytes()}`);
    reader.close();
    await waitFor('the log to shrink', async () => {
      if (!isIdle) await write(1);
      return logBytes() <= 16 * megabyte ? true : undefined;
    });
    await write(1);
    assert.equal((await store.read.delivery('hook', '1'))?.event.body.length, 40 * megabyte);
  }
});
