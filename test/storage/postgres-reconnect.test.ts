import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import pg from 'pg';
import { ConflictError, StoreAwayError } from '../../src/core/ports/store/change.js';
import type { Log } from '../../src/core/work/log.js';
import { type OpenedStore, openStore } from '../../src/storage/open-store.js';
import { takePostgresLock } from '../../src/storage/postgres/postgres-lock.js';
import { rememberingLog } from '../support/evm.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { aTransaction, silentLog } from '../support/stored-samples.js';
import { type Fate, startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';
import { waitFor } from '../support/wait-for.js';

let server: TestPostgres;
before(async () => {
  server = await startPostgres();
});
after(() => server.stop());

async function asAdmin(databaseUrl: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const admin = new pg.Client(databaseUrl);
  await admin.connect();
  const { rows } = await admin.query<Record<string, unknown>>(sql);
  await admin.end();
  return rows;
}

/** How many reads run at once. */
const connectionsForReads = 8;

const endAll = `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'relayer' and datname = current_database()`;

interface Opened extends OpenedStore {
  readonly databaseUrl: string;
  isLost(): boolean;
  insert(id: string): Promise<void>;
}

async function opened(test: TestContext, databaseUrl: string, url = databaseUrl, log: Log = silentLog): Promise<Opened> {
  const one = await openStore(url, { log });
  test.after(() => one.store.close());
  let isLost = false;
  void one.lost.then(() => {
    isLost = true;
  });
  const { store } = one;
  const insert = (id: string) => store.commit([store.change.insertTransaction(aTransaction({ id }))]);
  return { ...one, databaseUrl, isLost: () => isLost, insert };
}

async function behindProxy(test: TestContext): Promise<Opened & { readonly proxy: TcpProxy }> {
  const databaseUrl = await server.newDatabase();
  const proxy = await startTcpProxy(Number(new URL(databaseUrl).port));
  test.after(() => proxy.stop());
  const through = new URL(databaseUrl);
  through.port = String(proxy.port);
  return { ...(await opened(test, databaseUrl, through.href)), proxy };
}

/** Inserts transactions until `isEnough`, several at a time; returns the ids by outcome. */
async function insertWhile(insert: (id: string) => Promise<void>, isEnough: () => boolean): Promise<{ done: string[]; failed: string[] }> {
  const done: string[] = [];
  const failed: string[] = [];
  await Promise.all(
    Array.from({ length: 4 }, async (_, caller) => {
      for (let number = 0; !isEnough(); number += 1) {
        const id = `${caller}-${number}`;
        try {
          await insert(id);
          done.push(id);
        } catch (error) {
          assert.ok(error instanceof StoreAwayError, String(error));
          failed.push(id);
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }
    }),
  );
  return { done, failed };
}

async function storedIds(databaseUrl: string): Promise<string[]> {
  return (await asAdmin(databaseUrl, 'select id from transactions order by seq')).map(({ id }) => String(id));
}

/** From now on, commits wait for a synchronous standby that never comes. */
async function withStandbyThatIsGone(databaseUrl: string): Promise<void> {
  await asAdmin(databaseUrl, `alter system set synchronous_standby_names = 'gone'`);
  await asAdmin(databaseUrl, 'select pg_reload_conf()');
  // Another process of the server than the sessions decides from when on commits wait.
  await waitFor('commits to wait for the standby', async () => ((await waitsForStandby(databaseUrl)) ? true : undefined));
}

/** True if a commit waits for the standby; it is then ended. */
async function waitsForStandby(databaseUrl: string): Promise<boolean> {
  const probe = new pg.Client(databaseUrl);
  probe.on('error', () => undefined);
  await probe.connect();
  const { rows } = await probe.query<{ pid: number }>('select pg_backend_pid() as pid');
  const pid = rows[0]?.pid;
  let isWritten = false;
  const written = probe.query(`select pg_logical_emit_message(true, 'probe', '')`).then(
    () => {
      isWritten = true;
    },
    () => undefined,
  );
  const waits = `select pid from pg_stat_activity where wait_event = 'SyncRep' and pid = ${pid}`;
  const end = await waitFor('the commit to end or to wait', async () =>
    (await asAdmin(databaseUrl, waits)).length > 0 ? 'waits' : isWritten ? 'written' : undefined,
  );
  await asAdmin(databaseUrl, `select pg_terminate_backend(${pid})`);
  await written;
  await probe.end().catch(() => undefined);
  return end === 'waits';
}

async function withoutStandby(databaseUrl: string): Promise<void> {
  await asAdmin(databaseUrl, 'alter system reset synchronous_standby_names');
  await asAdmin(databaseUrl, 'select pg_reload_conf()');
}

const waitsForIt = `select pid from pg_stat_activity where wait_event = 'SyncRep' and datname = current_database()`;

const isCommit = (chunk: Buffer) => chunk.includes('commit\0');
/** The fate of the first commit that is sent from now on; everything else passes. */
function firstCommit(fate: Fate): (chunk: Buffer) => Fate {
  let isPassed = false;
  return (chunk) => {
    if (isPassed || !isCommit(chunk)) return 'pass';
    isPassed = true;
    return fate;
  };
}

describe('a PostgreSQL connection that is lost', () => {
  it('is replaced in place: commits that run while connections are terminated 20 times are all written once', async (test) => {
    const { databaseUrl, insert, isLost, store } = await opened(test, await server.newDatabase());
    let ended = 0;
    const inserting = insertWhile(insert, () => ended >= 20);
    for (; ended < 20; ended += 1) {
      assert.notEqual((await asAdmin(databaseUrl, endAll)).length, 0);
      await store.commit([store.change.confirmTime(ended)]);
    }
    const { done, failed } = await inserting;
    assert.deepEqual(failed, []);
    assert.deepEqual((await storedIds(databaseUrl)).sort(), done.sort());
    assert.ok(done.length > 20, `${done.length} inserts`);
    assert.equal(isLost(), false);
  });

  it('a commit whose answer is lost succeeds, and is written once', async (test) => {
    const { databaseUrl, insert, proxy } = await behindProxy(test);
    proxy.fateOf(firstCommit('cut after'));
    await Promise.all([insert('one'), insert('two')]);
    assert.deepEqual((await storedIds(databaseUrl)).sort(), ['one', 'two']);
  });

  it('a commit that the server never got is written by the next connection', async (test) => {
    const { databaseUrl, insert, proxy } = await behindProxy(test);
    proxy.fateOf(firstCommit('cut before'));
    await Promise.all([insert('one'), insert('two')]);
    assert.deepEqual((await storedIds(databaseUrl)).sort(), ['one', 'two']);
  });

  it('a lost answer keeps the outcome of each list: a conflict stays a conflict', async (test) => {
    const { databaseUrl, insert, proxy } = await behindProxy(test);
    await insert('taken');
    proxy.fateOf(firstCommit('cut after'));
    const [taken, free] = await Promise.allSettled([insert('taken'), insert('free')]);
    assert.ok(taken?.status === 'rejected' && taken.reason instanceof ConflictError);
    assert.equal(free?.status, 'fulfilled');
    assert.deepEqual(await storedIds(databaseUrl), ['taken', 'free']);
  });

  it('a commit without an answer while the server stays away fails as unavailable, and later ones fail at once until it is back', async (test) => {
    const { databaseUrl, insert, isAway, isLost, proxy, store } = await behindProxy(test);
    let isCut = false;
    proxy.fateOf((chunk) => {
      if (isCut) return 'cut before';
      isCut = isCommit(chunk);
      return isCut ? 'cut after' : 'pass';
    });
    await assert.rejects(insert('unknown'), StoreAwayError);
    assert.equal(isAway(), true);
    const begunMs = performance.now();
    await assert.rejects(insert('refused'), StoreAwayError);
    assert.ok(performance.now() - begunMs < 5_000);
    await assert.rejects(store.checkWorking(), StoreAwayError);
    proxy.fateOf(() => 'pass');
    await waitFor('the connection to be back', () => !isAway() || undefined);
    await insert('later');
    assert.deepEqual(await storedIds(databaseUrl), ['unknown', 'later']);
    assert.equal(isLost(), false);
  });

  it('the server answers a statement twice: the connection is replaced, and a guard that failed still counts', async (test) => {
    const { databaseUrl, store, insert, proxy, isLost } = await behindProxy(test);
    await insert('known');
    let isDoubled = false;
    const once = 'C\0\0\0\x0fINSERT 0 1\0';
    proxy.rewriteAnswers((chunk) => {
      const text = chunk.toString('latin1');
      if (isDoubled || !text.includes(once)) return chunk;
      isDoubled = true;
      return Buffer.from(text.replace(once, once + once), 'latin1');
    });
    const isUnknown = store.change.updateTransaction({ ...aTransaction({ id: 'unknown' }), revision: 2 });
    await assert.rejects(store.commit([store.change.insertTransaction(aTransaction({ id: 'new' })), isUnknown]), ConflictError);
    assert.equal(isDoubled, true);
    assert.deepEqual(await storedIds(databaseUrl), ['known']);
    await insert('next');
    assert.deepEqual(await storedIds(databaseUrl), ['known', 'next']);
    assert.equal(isLost(), false);
  });

  it('the server says that a statement is complete, and then that it failed: the change is not stored, and its caller hears that', async (test) => {
    const { databaseUrl, insert, proxy, isLost } = await behindProxy(test);
    await asAdmin(
      databaseUrl,
      `create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
       create trigger early before insert on transactions for each row when (new.id = 'refused') execute function refuse()`,
    );
    proxy.rewriteAnswers((chunk) => {
      const [before, ...rest] = chunk.toString('latin1').split(/(?=E.{4}SERROR\0VERROR\0CP0001)/s);
      return rest.length === 0 ? chunk : Buffer.from([before, 'C\0\0\0\x0fINSERT 0 1\0', ...rest].join(''), 'latin1');
    });
    await assert.rejects(insert('refused'), { message: 'refused' });
    await insert('next');
    assert.deepEqual(await storedIds(databaseUrl), ['next']);
    assert.equal(isLost(), false);
  });

  it('the error of a statement does not arrive, and the commit is answered with ROLLBACK: the change is stored after all', async (test) => {
    const { databaseUrl, insert, proxy, isLost } = await behindProxy(test);
    await asAdmin(
      databaseUrl,
      `create sequence inserts;
       create function refuse() returns trigger language plpgsql as
         $$ begin if nextval('inserts') = 1 then raise 'refused'; end if; return new; end $$;
       create trigger early before insert on transactions for each row execute function refuse()`,
    );
    let isHidden = false;
    proxy.rewriteAnswers((chunk) => {
      const at = chunk.toString('latin1').search(/E.{4}SERROR\0VERROR\0CP0001/s);
      if (at === -1) return chunk;
      isHidden = true;
      const after = at + 1 + chunk.readInt32BE(at + 1);
      return Buffer.concat([chunk.subarray(0, at), Buffer.from('C\0\0\0\x0fINSERT 0 1\0', 'latin1'), chunk.subarray(after)]);
    });
    await insert('refused once');
    assert.equal(isHidden, true);
    assert.deepEqual(await storedIds(databaseUrl), ['refused once']);
    assert.equal(isLost(), false);
  });

  it('another program resets the session: the connection is replaced, and the change is stored', async (test) => {
    const databaseUrl = await server.newDatabase();
    const { insert, isLost, isAway } = await opened(test, databaseUrl);
    await asAdmin(
      databaseUrl,
      `create sequence inserts;
       create function reset() returns trigger language plpgsql as
         $$ begin if nextval('inserts') = 2 then execute 'deallocate all'; end if; return new; end $$;
       create trigger early before insert on transactions for each row execute function reset()`,
    );
    await insert('first');
    await insert('second');
    await insert('third');
    assert.deepEqual(await storedIds(databaseUrl), ['first', 'second', 'third']);
    assert.equal(isLost(), false);
    assert.equal(isAway(), false);
  });

  it('a server in another language refuses a commit and a statement: the connection stays, and the error is the one of the server', async (test) => {
    const { databaseUrl, insert, proxy, isLost } = await behindProxy(test);
    // As long as the English word, so that the message keeps its length.
    proxy.rewriteAnswers((chunk) => Buffer.from(chunk.toString('latin1').replaceAll('SERROR\0V', 'SFEHLR\0V'), 'latin1'));
    const backends = `select pid from pg_locks where locktype = 'advisory' and granted
      and database = (select oid from pg_database where datname = current_database())`;
    const before = await asAdmin(databaseUrl, backends);
    await asAdmin(
      databaseUrl,
      `create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
       create constraint trigger late after insert on transactions deferrable initially deferred
         for each row when (new.id = 'late') execute function refuse();
       create trigger early before insert on transactions for each row when (new.id = 'early') execute function refuse()`,
    );
    await assert.rejects(insert('late'), { severity: 'FEHLR', message: 'refused' });
    await assert.rejects(insert('early'), { severity: 'FEHLR', message: 'refused' });
    await insert('next');
    assert.deepEqual(await storedIds(databaseUrl), ['next']);
    assert.deepEqual(await asAdmin(databaseUrl, backends), before);
    assert.equal(isLost(), false);
  });

  it('a server that does not notice the loss ends the earlier connection first, so nothing sent there is written later', async (test) => {
    const { databaseUrl, insert, proxy, isLost } = await behindProxy(test);
    await insert('one');
    const backends = `select pid from pg_locks where locktype = 'advisory' and granted
      and database = (select oid from pg_database where datname = current_database())`;
    const [earlier] = await asAdmin(databaseUrl, backends);
    proxy.cut({ keepServer: true });
    await insert('two');
    const [later] = await asAdmin(databaseUrl, backends);
    assert.notEqual(later?.pid, earlier?.pid);
    assert.deepEqual(await asAdmin(databaseUrl, `select 1 from pg_stat_activity where pid = ${earlier?.pid}`), []);
    assert.deepEqual(await storedIds(databaseUrl), ['one', 'two']);
    assert.equal(isLost(), false);
  });

  it('an earlier connection that no longer holds the lock is left alone: a pooler may have given it to another client', async (test) => {
    const databaseUrl = await server.newDatabase();
    const earlier = await takePostgresLock(databaseUrl, { isShared: false });
    test.after(() => earlier.writer.end());
    await earlier.writer.query('select pg_advisory_unlock_all()');
    const later = await takePostgresLock(databaseUrl, { isShared: false, replaces: earlier.backend });
    test.after(() => later.writer.end());
    assert.equal((await earlier.writer.query('select 1')).rowCount, 1);
  });

  it('a batch that itself takes too long is not repeated', async (test) => {
    const { databaseUrl, insert, isLost, isAway } = await opened(test, await server.newDatabase());
    await asAdmin(
      databaseUrl,
      `create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(60); return new; end $$;
       create trigger slow before insert on transactions for each row when (new.id = 'slow') execute function slow()`,
    );
    const begunMs = performance.now();
    await assert.rejects(insert('slow'), StoreAwayError);
    assert.ok(performance.now() - begunMs < 20_000);
    await waitFor('the connection to be back', () => !isAway() || undefined);
    await insert('next');
    assert.deepEqual(await storedIds(databaseUrl), ['next']);
    assert.equal(isLost(), false);
  });

  it('a connection that hangs fails its commits as unavailable, and the store returns when the network does', async (test) => {
    const { databaseUrl, insert, proxy, isLost, isAway } = await behindProxy(test);
    await insert('one');
    proxy.hang();
    await assert.rejects(insert('two'), StoreAwayError);
    proxy.heal();
    await waitFor('the connection to be back', () => !isAway() || undefined, 60_000);
    await insert('three');
    assert.deepEqual(await storedIds(databaseUrl), ['one', 'three']);
    assert.equal(isLost(), false);
  });

  it('a server that restarts 3 times under commits: each that was answered is written once, and reads return', async (test) => {
    const { databaseUrl, insert, isLost, isAway, store } = await opened(test, await server.newDatabase());
    let restarts = 0;
    const inserting = insertWhile(insert, () => restarts >= 3);
    for (; restarts < 3; restarts += 1) {
      await server.halt();
      await waitFor('the store to be away', () => isAway() || undefined);
      await assert.rejects(store.read.transaction('0-0'), StoreAwayError);
      await server.start();
      await waitFor('the store to work', () =>
        store
          .checkWorking()
          .then(() => true)
          .catch(() => undefined),
      );
    }
    const { done, failed } = await inserting;
    const stored = await storedIds(databaseUrl);
    assert.equal(new Set(stored).size, stored.length);
    for (const id of done) assert.ok(stored.includes(id), id);
    for (const id of stored) assert.ok(done.includes(id) || failed.includes(id), id);
    assert.notEqual(await store.read.transaction(done[0] ?? ''), undefined);
    assert.equal(isLost(), false);
  });

  it('another process that takes over meanwhile keeps the database, and this one writes nothing more', async (test) => {
    const { databaseUrl, insert, proxy, lost } = await behindProxy(test);
    await insert('one');
    proxy.fateOf(() => 'cut before');
    proxy.cut();
    const successor = await waitFor('another process to take over', () =>
      openStore(databaseUrl, { log: silentLog }).catch(() => undefined),
    );
    test.after(() => successor.store.close());
    proxy.fateOf(() => 'pass');
    assert.match((await lost).message, /another process took over/);
    await assert.rejects(insert('two'), /another process took over/);
    await successor.store.commit([successor.store.change.insertTransaction(aTransaction({ id: 'three' }))]);
    assert.deepEqual(await storedIds(databaseUrl), ['one', 'three']);
  });

  it('a process that recorded itself beside the lock is the owner: this one writes nothing more, and logs how many commits were refused', async (test) => {
    const url = await server.newDatabase();
    const refused: unknown[] = [];
    const log: Log = { ...silentLog, warn: (fields) => void refused.push(fields) };
    const { databaseUrl, insert, lost, store } = await opened(test, url, url, log);
    await insert('one');
    await asAdmin(databaseUrl, `update instances set token = 'of another process'`);
    await assert.rejects(insert('two'), /another process took over/);
    await assert.rejects(insert('three'), /another process took over/);
    assert.match((await lost).message, /another process took over/);
    assert.deepEqual(await storedIds(databaseUrl), ['one']);
    await store.close();
    assert.deepEqual(refused, [{ refusedCommits: 2 }]);
  });

  it('a new connection that falls silent while it is given up does not end the reconnecting', async (test) => {
    const { insert, proxy, databaseUrl, isAway, isLost } = await behindProxy(test);
    await insert('one');
    // As another process that begins: it holds the lock, and has not recorded itself.
    const other = new pg.Client(databaseUrl);
    await other.connect();
    test.after(() => other.end());
    const [lock] = await asAdmin(
      databaseUrl,
      `select classid::int, objid::bigint::bit(32)::int as objid from pg_locks where locktype = 'advisory' and granted`,
    );
    let isGivenUp = false;
    proxy.fateOf(() => 'cut before');
    proxy.cut();
    await other.query('select pg_advisory_lock($1, $2)', [lock?.classid, lock?.objid]);
    proxy.fateOf((chunk) => {
      if (isGivenUp || chunk[0] !== 'X'.charCodeAt(0)) return 'pass';
      isGivenUp = true;
      proxy.hang();
      return 'pass';
    });
    await waitFor('a connection to be given up', () => isGivenUp || undefined);
    proxy.heal();
    await other.query('select pg_advisory_unlock_all()');
    await waitFor('the connection to be back', () => !isAway() || undefined);
    await insert('two');
    assert.deepEqual(await storedIds(databaseUrl), ['one', 'two']);
    assert.equal(isLost(), false);
  });

  it('reads that wait for a connection while all are replaced get one of the new ones', async (test) => {
    const { databaseUrl, store, onReturn } = await opened(test, await server.newDatabase());
    const admin = new pg.Client(databaseUrl);
    await admin.connect();
    test.after(() => admin.end());
    await admin.query('begin; lock table transactions in access exclusive mode');
    const read = (id: number) => store.read.transaction(String(id)).then(() => 'answered', String);
    const running = Array.from({ length: connectionsForReads }, (_, index) => read(index));
    const blocked =
      'select count(*)::int as count from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())';
    await waitFor('all connections to be in use', async () => {
      const { rows } = await admin.query<{ count: number }>(blocked);
      return rows[0]?.count === connectionsForReads || undefined;
    });
    const waiting = [read(100), read(101)];
    const returned = new Promise<void>((resolve) => onReturn(resolve));
    await admin.query(`select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and granted
      and database = (select oid from pg_database where datname = current_database())`);
    await returned;
    await admin.query('commit');
    assert.deepEqual(await Promise.all(waiting), ['answered', 'answered']);
    await Promise.all(running);
  });

  it('reads show no commit that the synchronous standby may lack, while nothing can be written: a promotion would undo it', async (test) => {
    const { databaseUrl, store, insert, isAway } = await opened(test, await server.newDatabase());
    await store.read.transaction('one');
    const endWait = async () => void (await withoutStandby(databaseUrl));
    test.after(endWait);
    await withStandbyThatIsGone(databaseUrl);
    const inserting = insert('one').then(() => 'written', String);
    await waitFor('the commit to wait for the standby', async () => (await asAdmin(databaseUrl, waitsForIt))[0]);
    await asAdmin(databaseUrl, endAll);
    // PostgreSQL then stops waiting, and shows what it has committed on this server alone.
    await waitFor('the server to show the commit', async () => ((await storedIds(databaseUrl)).includes('one') ? true : undefined));
    await waitFor('the store to be away', () => isAway() || undefined);
    await assert.rejects(store.read.transaction('one'), StoreAwayError);
    await endWait();
    await waitFor('the connection to be back', () => !isAway() || undefined);
    assert.equal((await store.read.transaction('one'))?.transaction.id, 'one');
    await inserting;
  });

  it('a commit that waits for a standby goes on to wait after its connection was given up, and nothing shows it', async (test) => {
    const databaseUrl = await server.newDatabase();
    const proxy = await startTcpProxy(Number(new URL(databaseUrl).port));
    test.after(() => proxy.stop());
    const through = new URL(databaseUrl);
    through.port = String(proxy.port);
    const log = rememberingLog();
    const { insert } = await opened(test, databaseUrl, through.href, log);
    test.after(() => withoutStandby(databaseUrl));
    await withStandbyThatIsGone(databaseUrl);
    const inserting = insert('one').then(() => 'written', String);
    const [waiting] = await waitFor('the commit to wait for the standby', async () => {
      const rows = await asAdmin(databaseUrl, waitsForIt);
      return rows.length > 0 ? rows : undefined;
    });
    proxy.cut({ keepServer: true });
    await waitFor(
      'the service to connect again in vain',
      () => log.lines.some((line) => line.includes('cannot reach the database; retrying')) || undefined,
    );
    assert.deepEqual(await asAdmin(databaseUrl, waitsForIt), [waiting]);
    assert.deepEqual(await storedIds(databaseUrl), []);
    await withoutStandby(databaseUrl);
    await waitFor('the commit to be shown', async () => ((await storedIds(databaseUrl)).includes('one') ? true : undefined));
    await inserting;
  });

  it('a commit whose wait for a standby is canceled is answered once the standby has it, although the server answers it at once', async (test) => {
    const { databaseUrl, store, insert } = await opened(test, await server.newDatabase());
    test.after(() => withoutStandby(databaseUrl));
    await withStandbyThatIsGone(databaseUrl);
    let answer: string | null = null;
    const inserting = insert('one').then(
      () => {
        answer = 'written';
      },
      (error: unknown) => {
        answer = String(error);
      },
    );
    const [canceled] = await waitFor('the commit to wait for the standby', async () => {
      const rows = await asAdmin(databaseUrl, waitsForIt);
      return rows.length > 0 ? rows : undefined;
    });
    await asAdmin(databaseUrl, `select pg_cancel_backend(${canceled?.pid})`);
    await waitFor('the server to show the commit', async () => ((await storedIds(databaseUrl)).includes('one') ? true : undefined));
    await waitFor('the return of the connection to wait, too', async () => {
      const rows = await asAdmin(databaseUrl, waitsForIt);
      return rows.some(({ pid }) => pid !== canceled?.pid) || undefined;
    });
    assert.notEqual(answer, 'written');
    await withoutStandby(databaseUrl);
    await inserting;
    assert.equal((await store.read.transaction('one'))?.transaction.id, 'one');
  });

  it('closing a store whose connection is lost does not wait for the server', async (test) => {
    const { store, proxy, isAway } = await behindProxy(test);
    proxy.fateOf(() => 'cut before');
    proxy.cut();
    await waitFor('the store to be away', () => isAway() || undefined);
    const begunMs = performance.now();
    await store.close();
    assert.ok(performance.now() - begunMs < 5_000);
  });
});
