import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, realpathSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type Sqlite from 'better-sqlite3';
import { StoreAwayError } from '../../src/core/ports/store/change.js';
import { DatabaseLockedError } from '../../src/storage/database/database-locked-error.js';
import { openStore } from '../../src/storage/open-store.js';
import { sqlite } from '../../src/storage/sql/dialect.js';
import type { Statement } from '../../src/storage/sql/statement.js';
import { sqliteDriver } from '../../src/storage/sqlite/driver.js';
import { compileStatements } from '../../src/storage/statements/all-statements.js';
import { deliveryPageContract } from '../contracts/delivery-page.contract.js';
import { findContract } from '../contracts/find.contract.js';
import { laneViewContract } from '../contracts/lane-view.contract.js';
import { migrationContract } from '../contracts/migration.contract.js';
import { removalContract } from '../contracts/removal.contract.js';
import { storeContract } from '../contracts/store.contract.js';
import { watchContract } from '../contracts/watch.contract.js';
import { migrationNames } from '../support/released-migrations.js';
import { aTransaction, silentLog } from '../support/stored-samples.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const folder = await temporaryFolder();
let databases = 0;

function newFile(): string {
  databases += 1;
  return join(folder, `${databases}`, 'data', 'relayer.db');
}

storeContract('sqlite', async () => `sqlite:${newFile()}`);
removalContract('sqlite', async () => `sqlite:${newFile()}`);
watchContract('sqlite', async () => `sqlite:${newFile()}`);
findContract('sqlite', async () => `sqlite:${newFile()}`);
deliveryPageContract('sqlite', async () => {
  const file = newFile();
  return {
    databaseUrl: `sqlite:${file}`,
    run: async (sql) => {
      const db = new (sqliteDriver())(file);
      db.exec(sql);
      db.close();
    },
  };
});
laneViewContract(sqlite, async () => {
  const file = newFile();
  const using = <T>(task: (db: Sqlite.Database) => T): T => {
    const db = new (sqliteDriver())(file);
    try {
      return task(db);
    } finally {
      db.close();
    }
  };
  return {
    databaseUrl: `sqlite:${file}`,
    run: async (sql) => void using((db) => db.exec(sql)),
    planOf: async (statement, values) =>
      using((db) => db.prepare(`explain query plan ${statement.sql}`).all(statement.bind(values)))
        .map((row) => (row as { readonly detail: string }).detail)
        .join('\n'),
  };
});
migrationContract(sqlite, async () => {
  const file = newFile();
  mkdirSync(dirname(file), { recursive: true });
  const using = <T>(task: (db: Sqlite.Database) => T): T => {
    const db = new (sqliteDriver())(file);
    try {
      return task(db);
    } finally {
      db.close();
    }
  };
  return {
    databaseUrl: `sqlite:${file}`,
    run: async (sql) => {
      using((db) => db.exec(sql));
    },
    schema: async () =>
      using((db) =>
        db
          .prepare<unknown[], { text: string }>(
            `select tables.name || ' ' || columns.name || ' ' || columns.type || ' ' || columns."notnull" || ' ' || columns.pk as text
               from sqlite_master as tables, pragma_table_info(tables.name) as columns
               where tables.type = 'table' and tables.name not like 'kysely%'
             union all select sql from sqlite_master where type = 'index' and sql is not null
             order by 1`,
          )
          .all()
          .map(({ text }) => text),
      ),
  };
});

describe('sqlite only', () => {
  test('only the owner can read the database, its log, its lock and the folder that is made for it', async () => {
    const file = newFile();
    const open = async () => (await openStore(`sqlite:${file}`, { log: silentLog })).store;
    const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
    const umask = process.umask(0o022);
    try {
      await (await open()).close();
      chmodSync(file, 0o644);
      const store = await open();
      await store.checkWorking();
      assert.deepEqual(
        ['', '-wal', '-shm', '.lock', '.lock-journal'].map((end) => modeOf(file + end)),
        ['600', '600', '600', '600', '600'],
      );
      assert.equal(modeOf(dirname(file)), '700');
      await store.close();
    } finally {
      process.umask(umask);
    }
  });

  test('all paths of one database file share one lock', async () => {
    const file = newFile();
    const { store } = await openStore(`sqlite:${file}`, { log: silentLog });
    const link = join(folder, 'link.db');
    symlinkSync(file, link);
    await assert.rejects(openStore(`sqlite:${link}`, { log: silentLog }), DatabaseLockedError);
    await store.close();
    assert.ok(!existsSync(`${link}.lock`));
  });

  test('a commit waits for another program that locks the file, and the event loop runs on meanwhile', async () => {
    const file = newFile();
    const { store } = await openStore(`sqlite:${file}`, { log: silentLog });
    const other = new (sqliteDriver())(file);
    other.exec('begin immediate');
    const committed = store.commit([store.change.insertTransaction(aTransaction({ id: 'waited' }))]);
    // If the commit held the loop, this program could not end its transaction before the commit gives up.
    for (let turns = 0; turns < 50; turns += 1) await setImmediate();
    other.exec('rollback');
    other.close();
    await committed;
    assert.notEqual(await store.read.transaction('waited'), undefined);
    await store.close();
  });

  test('a commit rejects with StoreAwayError while another program locks the file, and reads go on', async () => {
    const file = newFile();
    const { store } = await openStore(`sqlite:${file}`, { log: silentLog });
    const insert = (id: string) => store.commit([store.change.insertTransaction(aTransaction({ id }))]);
    await insert('before');
    const other = new (sqliteDriver())(file);
    other.exec('begin immediate');
    await assert.rejects(insert('locked out'), StoreAwayError);
    assert.notEqual(await store.read.transaction('before'), undefined);
    other.exec('rollback');
    other.close();
    await insert('after');
    assert.equal(await store.read.transaction('locked out'), undefined);
    await store.close();
  });

  test('a failed migration changes nothing, and the next start runs it', async () => {
    const file = newFile();
    mkdirSync(dirname(file), { recursive: true });
    const other = new (sqliteDriver())(file);
    other.exec('create table events (something text)');
    await assert.rejects(
      openStore(`sqlite:${file}`, { log: silentLog }),
      /cannot migrate the database to this version: table "events" already exists/,
    );
    assert.equal(other.prepare("select 1 from sqlite_master where name = 'transactions'").get(), undefined);
    other.exec('drop table events');
    other.close();
    const { store, migrations } = await openStore(`sqlite:${file}`, { log: silentLog });
    assert.deepEqual(migrations, migrationNames);
    await store.close();
  });

  test('a process that is killed in a migration leaves no part of it', async () => {
    const file = newFile();
    const child = fork(fileURLToPath(new URL('../support/die-in-migration.js', import.meta.url)), [`sqlite:${file}`]);
    assert.deepEqual(await once(child, 'exit'), [null, 'SIGKILL']);
    const left = new (sqliteDriver())(file);
    assert.deepEqual(left.prepare("select name from sqlite_master where name not like 'kysely%' and name not like 'sqlite%'").all(), []);
    left.close();
    const { store, migrations } = await openStore(`sqlite:${file}`, { log: silentLog });
    assert.deepEqual(migrations, migrationNames);
    await store.close();
  });

  test('a database of another version and a file that is not a database are refused', async () => {
    const file = newFile();
    await (await openStore(`sqlite:${file}`, { log: silentLog })).store.close();
    const other = new (sqliteDriver())(file);
    other.exec("insert into kysely_migration (name, timestamp) values ('9999-later', '2999-01-01T00:00:00.000Z')");
    other.close();
    await assert.rejects(
      openStore(`sqlite:${file}`, { log: silentLog }),
      /it has migration 9999-later, which this version does not know; run the version that created it, or restore a backup/,
    );
    writeFileSync(file, 'no database, but long enough to have a header'.repeat(100));
    await assert.rejects(openStore(`sqlite:${file}`, { log: silentLog }), {
      message: `cannot open the database file ${realpathSync(file)}: file is not a database`,
    });
  });

  test('a failed commit rejects every list of its batch, and the next batch is written', async () => {
    const file = newFile();
    const { store } = await openStore(`sqlite:${file}`, { log: silentLog });
    // A deferred constraint fails in the commit itself.
    const other = new (sqliteDriver())(file);
    other.exec('create table late (id text references transactions (id) deferrable initially deferred)');
    other.exec(
      "create trigger late_check after insert on transactions when new.id = 'late' begin insert into late values ('unknown'); end",
    );
    const insert = (id: string) => store.commit([store.change.insertTransaction(aTransaction({ id }))]);
    const results = await Promise.allSettled(['one', 'late', 'two'].map(insert));
    assert.deepEqual(
      results.map(({ status }) => status),
      ['rejected', 'rejected', 'rejected'],
    );
    assert.equal(await store.read.transaction('one'), undefined);
    await insert('one');
    assert.notEqual(await store.read.transaction('one'), undefined);
    other.close();
    await store.close();
  });

  test('no statement skips rows by a number from a request: an offset walks over them in one go', () => {
    const statements = Object.values(compileStatements(sqlite)).flatMap((of) => Object.values<unknown>(of));
    const all = statements.map((made) => (typeof made === 'function' ? made(2) : made) as Pick<Statement<object>, 'name' | 'sql'>);
    assert.ok(all.length > 50);
    assert.deepEqual(
      all.filter(({ sql }) => /offset \?/i.test(sql)).map(({ name }) => name),
      [],
    );
  });

  test('every read uses an index and sorts no long list', async () => {
    const file = newFile();
    const { store } = await openStore(`sqlite:${file}`, { log: silentLog });
    await store.close();
    const db = new (sqliteDriver())(file);
    const statements = compileStatements(sqlite);
    const { transactions, transactionLists, attempts, lanes, notifications, fileEntries, events, deliveryAttempts, storedResponses } =
      statements;
    const { filteredLists } = statements;
    const positions = [filteredLists.byStatus(4), filteredLists.byFirstReceiver(4), filteredLists.byReceiver(4), filteredLists.byLabel(4)];
    const planOf = ({ sql }: Pick<Statement<object>, 'sql'>): string[] =>
      db
        .prepare<unknown[], { detail: string }>(`explain query plan ${sql}`)
        .all(
          sql
            .split('?')
            .slice(1)
            .map(() => 1),
        )
        .map(({ detail }) => detail);
    const reads = [
      transactions.byId,
      transactionLists.ordinals,
      transactions.oldest,
      transactions.subtractFinished,
      transactions.deleteFinal,
      transactionLists.page,
      transactionLists.totals,
      transactionLists.pageOfStatuses(1),
      transactionLists.pageOfStatuses(3),
      transactionLists.walkStatuses(1),
      transactionLists.walkStatuses(3),
      transactions.openOfLane,
      transactions.openLanes,
      attempts.deleteOf,
      lanes.nextNonce,
      lanes.genesisHash,
      notifications.byId,
      notifications.page,
      notifications.walk,
      fileEntries.ofKind,
      storedResponses.byKey,
      storedResponses.deleteExpired,
      events.pendingTargets,
      events.due,
      events.byId,
      events.pageOf,
      events.walk,
      events.finished,
      events.releaseNext,
      events.redeliver,
      events.holdLater,
      events.deleteUndelivered,
      events.deleteFinishedOf,
      deliveryAttempts.ofEvents(4),
      deliveryAttempts.deleteOldest,
      ...positions,
      filteredLists.newest,
      filteredLists.lastUpTo,
      filteredLists.ofReceiver,
      filteredLists.idsOfExternalId(4),
      filteredLists.idsOfHash,
      filteredLists.idsOfSlots(4),
      filteredLists.candidatesBySeqs(4),
      filteredLists.bySeqs(4),
    ];
    for (const read of reads) {
      const plan = planOf(read);
      const scans = plan.filter(
        (line) =>
          /^SCAN (?!CONSTANT|found|newest|walked|target|\(subquery)/.test(line) &&
          !/USING (COVERING )?INDEX (transactions_open)/.test(line),
      );
      assert.deepEqual(scans, [], `${read.name}: ${plan.join('; ')}`);
    }
    for (const read of positions)
      for (const line of planOf(read)) assert.match(line, /USING COVERING INDEX|CORRELATED LIST SUBQUERY/, `${read.name} reads no rows`);
    assert.match(planOf(transactions.openOfLane).join(), /transactions_open/);
    assert.match(planOf(transactions.openLanes).join(), /transactions_open/);
    assert.match(planOf(events.due).join(), /events_next/);
    assert.match(planOf(events.pendingCount).join(), /COVERING INDEX events_pending/);
    assert.match(planOf(events.walk).join(), /COVERING INDEX events_of_notification/);
    assert.match(planOf(events.finished).join(), /events_finished/);
    assert.match(planOf(events.holdLater).join(), /events_pending/);
    assert.doesNotMatch(planOf(transactionLists.page).join(), /TEMP B-TREE/);
    assert.match(planOf(storedResponses.firstExpiry).join(), /stored_responses_by_expiry/);
    assert.match(planOf(storedResponses.deleteExpired).join(), /stored_responses_by_expiry/);
    assert.doesNotMatch(planOf(events.due).join(), /TEMP B-TREE/);
    assert.doesNotMatch(planOf(events.finished).join(), /TEMP B-TREE/);
    db.close();
  });
});
