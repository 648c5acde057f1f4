import assert from 'node:assert/strict';
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Store } from '../../src/core/ports/store/store.js';
import type { Ended } from '../../src/core/transaction/end-waiting.js';
import { DatabaseLockedError } from '../../src/storage/database/database-locked-error.js';
import { openStore } from '../../src/storage/open-store.js';
import { restore } from '../../src/storage/restore.js';
import { sqliteDriver } from '../../src/storage/sqlite/driver.js';
import { aTransaction, silentLog } from '../support/stored-samples.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const opened = (file: string) => openStore(`sqlite:${file}`, { log: silentLog });

const insert = (store: Store, id: string) => store.commit([store.change.insertTransaction(aTransaction({ id }))]);

/** Commits about 300 kB. */
const insertMany = (store: Store, part: number) =>
  store.commit(Array.from({ length: 500 }, (_, index) => store.change.insertTransaction(aTransaction({ id: `${part} ${index}` }))));

async function newFile(): Promise<string> {
  return join(await temporaryFolder(), 'relayer.db');
}

describe('a SQLite database has one owner', () => {
  it('a symbolic link to a file that does not exist yet leads to the lock of that file', async () => {
    const file = await newFile();
    const link = `${file}.link`;
    symlinkSync(file, link);
    const { store } = await opened(link);
    await assert.rejects(opened(file), DatabaseLockedError);
    await store.close();
  });

  it('a file with two hard links is refused, since each name would have a log of its own', async () => {
    const file = await newFile();
    await (await opened(file)).store.close();
    linkSync(file, `${file}.second`);
    await assert.rejects(opened(file), /relayer\.db has 2 hard links.*remove the others/);
  });

  it('the second name that a restore leaves if it is killed right after it put the database in place is removed by the next start', async () => {
    const file = await newFile();
    await (await opened(file)).store.close();
    linkSync(file, `${file}.partial`);
    const { store } = await opened(file);
    await insert(store, '1');
    assert.equal(existsSync(`${file}.partial`), false);
    await store.close();
  });

  it('another file with the name of a copy in the making stays', async () => {
    const file = await newFile();
    writeFileSync(`${file}.partial`, 'of a backup that runs');
    await (await opened(file)).store.close();
    assert.equal(readFileSync(`${file}.partial`, 'utf8'), 'of a backup that runs');
  });

  it('after its lock file is deleted, a second process takes the database over, and the first can write nothing more', async () => {
    const file = await newFile();
    const first = await opened(file);
    await insert(first.store, '1');
    rmSync(`${file}.lock`);
    const second = await opened(file);
    await assert.rejects(insert(first.store, '2'), /relayer\.db\.lock was removed or replaced/);
    await insert(second.store, '3');
    assert.equal(await second.store.read.transaction('2'), undefined);
    await first.store.close();
    await second.store.close();
  });

  it('once another process has recorded itself as the owner, nothing is written', async () => {
    const file = await newFile();
    const { store, lost } = await opened(file);
    await insert(store, '1');
    const other = new (sqliteDriver())(file);
    other.exec("update instances set token = 'of another process'");
    other.close();
    await assert.rejects(insert(store, '2'), /another process took over the database/);
    assert.equal(await store.read.transaction('2'), undefined);
    assert.match((await lost).message, /another process took over the database/);
    await store.close();
  });

  it('a lock file that is deleted is noticed without a commit', async () => {
    const file = await newFile();
    const { store, lost } = await opened(file);
    rmSync(`${file}.lock`);
    assert.match((await lost).message, /relayer\.db\.lock was removed or replaced/);
    await store.close();
  });

  for (const [what, change] of [
    ['deleted', (file: string) => rmSync(file)],
    ['moved away', (file: string) => renameSync(file, `${file}.old`)],
    [
      'replaced by a copy',
      (file: string) => {
        copyFileSync(file, `${file}.copy`);
        renameSync(`${file}.copy`, file);
      },
    ],
  ] as const) {
    it(`a database file that is ${what} accepts no commit, and reports its loss to the service`, async () => {
      const file = await newFile();
      const { store, lost } = await opened(file);
      await insert(store, '1');
      change(file);
      await assert.rejects(insert(store, '2'), /relayer\.db was removed or replaced/);
      await assert.rejects(insert(store, '3'), /relayer\.db was removed or replaced/);
      await assert.rejects(store.checkWorking(), /relayer\.db was removed or replaced/);
      assert.match((await lost).message, /relayer\.db was removed or replaced/);
      await store.close();
    });
  }

  for (const end of ['-wal', '-shm']) {
    it(`a database whose ${end} file is deleted accepts no commit, and closing it keeps every earlier one`, async (test) => {
      const file = await newFile();
      const { store, lost } = await opened(file);
      test.after(() => store.close());
      await insert(store, '1');
      rmSync(`${file}${end}`);
      assert.match((await lost).message, new RegExp(`relayer\\.db${end} was removed or replaced`));
      await assert.rejects(insert(store, '2'), new RegExp(`relayer\\.db${end} was removed or replaced`));
      await store.close();
      const next = await opened(file);
      assert.notEqual(await next.store.read.transaction('1'), undefined);
      await next.store.close();
    });
  }

  for (const [what, damaged, damage] of [
    ['database file is cut off', 'relayer.db', (file: string) => truncateSync(file, 4_096)],
    ['database file is emptied', 'relayer.db', (file: string) => truncateSync(file)],
    ['database file is overwritten by an earlier copy', 'relayer.db', (file: string) => writeFileSync(file, readFileSync(`${file}.copy`))],
    ['log is emptied', 'relayer.db-wal', (file: string) => truncateSync(`${file}-wal`)],
    ['log is overwritten', 'relayer.db-wal', (file: string) => writeFileSync(`${file}-wal`, 'of another program')],
  ] as const) {
    it(`a database whose ${what} accepts no commit, and is refused by the next start until it is restored`, async (test) => {
      const file = await newFile();
      const { store, lost } = await opened(file);
      test.after(() => store.close().catch(() => undefined));
      copyFileSync(file, `${file}.copy`);
      // Until a checkpoint has made the file larger. The log then has commits that the file lacks.
      for (let count = 0; statSync(file).size === statSync(`${file}.copy`).size; count += 1) await insertMany(store, count);
      for (let count = -2; count < 0; count += 1) await insertMany(store, count);
      damage(file);
      await assert.rejects(insert(store, '1'), new RegExp(`${damaged.replace('.', '\\.')} was overwritten or cut off`));
      await assert.rejects(insert(store, '2'), new RegExp(`${damaged.replace('.', '\\.')} was overwritten or cut off`));
      assert.match((await lost).message, /was overwritten or cut off/);
      await store.close();
      await assert.rejects(opened(file), /it is a backup, or was overwritten .*; restore it with relayer restore|malformed|not a database/);
      if (/cut off|emptied/.test(what) && damaged === 'relayer.db') return;
      const failed: string[] = [];
      const onEnded = ({ ended }: Ended) => void failed.push(...ended.map(({ id }) => id));
      await restore(`sqlite:${file}.restored`, file, silentLog, { onEnded });
      // What the last checkpoint had, or the copy that was made before all commits.
      assert.equal(failed.length > 0, damaged === 'relayer.db-wal');
    });
  }

  it('a database that another program makes smaller by VACUUM accepts commits', async (test) => {
    const file = await newFile();
    const { store } = await opened(file);
    test.after(() => store.close());
    const { size } = statSync(file);
    for (let count = 0; statSync(file).size <= size + 1_000_000; count += 1) await insertMany(store, count);
    const largest = statSync(file).size;
    const other = new (sqliteDriver())(file);
    other.exec('delete from transactions; vacuum');
    other.pragma('wal_checkpoint(truncate)');
    other.close();
    assert.ok(statSync(file).size < largest);
    await insert(store, '1');
    await insertMany(store, -1);
  });

  it('a database file that is deleted is noticed without a commit', async () => {
    const file = await newFile();
    const { store, lost } = await opened(file);
    rmSync(file);
    assert.match((await lost).message, /relayer\.db was removed or replaced/);
    await store.close();
  });

  it('a folder in the place of the database file is refused in one sentence', async () => {
    const file = await newFile();
    mkdirSync(file);
    await assert.rejects(opened(file), /cannot open the database file .*relayer\.db/);
    writeFileSync(join(file, 'left'), 'as it was');
  });
});
