import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { after, before, describe, it, type TestContext } from 'node:test';
import pg from 'pg';
import { type OpenedInstance, openInstance } from '../../../src/app/open-instance.js';
import type { RunningInstance } from '../../../src/core/ports/instances.js';
import type { LeaseKind, Work } from '../../../src/core/ports/leases.js';
import { allNews, type News } from '../../../src/core/ports/news.js';
import { StoreAwayError } from '../../../src/core/ports/store/change.js';
import type { Log } from '../../../src/core/work/log.js';
import { DatabaseLockedError } from '../../../src/storage/database/database-locked-error.js';
import { migrateDatabase, openStore } from '../../../src/storage/open-store.js';
import { listPostgresInstances } from '../../../src/storage/postgres/postgres-instances.js';
import { endHolder, takePostgresLock } from '../../../src/storage/postgres/postgres-lock.js';
import { postgres } from '../../../src/storage/sql/dialect.js';
import { instanceStatements } from '../../../src/storage/statements/instances.js';
import { deferred } from '../../support/deferred.js';
import { noFiles } from '../../support/no-files.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { migrationNames } from '../../support/released-migrations.js';
import { removalOf } from '../../support/remove-instance.js';
import { aNotification, anEvent, aTransaction, silentLog } from '../../support/stored-samples.js';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.js';
import { waitFor } from '../../support/wait-for.js';

let server: TestPostgres;
before(async () => {
  server = await startPostgres();
});
after(() => server.stop());

async function runSql<R extends object>(databaseUrl: string, sql: string, values: readonly unknown[] = []): Promise<readonly R[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return (await client.query<R>(sql, [...values])).rows;
  } finally {
    await client.end();
  }
}

/** The units that instances work on, and whether two ever worked on the same at once. */
interface Floor {
  /** The names of the instances that work on a unit. */
  doers(unit: string): readonly string[];
  /** The number of units that an instance works on. */
  count(name: string): number;
  /** The units on which two worked at once. */
  readonly twice: ReadonlySet<string>;
  /** How often a unit changed hands. */
  moves(): number;
  worksOf(name: string, units: readonly string[]): ReadonlyMap<string, Work>;
}

function createFloor(): Floor {
  const doing = new Map<string, Set<string>>();
  const twice = new Set<string>();
  let begun = 0;
  const doersOf = (unit: string) => doing.get(unit) ?? new Set<string>();
  return {
    doers: (unit) => [...doersOf(unit)],
    count: (name) => [...doing.values()].filter((names) => names.has(name)).length,
    twice,
    moves: () => begun,
    worksOf: (name, units) =>
      new Map(
        units.map((unit) => [
          unit,
          {
            async begin() {
              begun += 1;
              doing.set(unit, new Set([...doersOf(unit), name]));
              if (doersOf(unit).size > 1) twice.add(unit);
            },
            async end() {
              doersOf(unit).delete(name);
            },
          },
        ]),
      ),
  };
}

interface Member extends OpenedInstance {
  readonly name: string;
  readonly logged: readonly (readonly [unknown, string | undefined])[];
  readonly news: readonly News[];
  insert(id: string): Promise<void>;
  /** This instance as the database has it. */
  row(): Promise<RunningInstance | undefined>;
  /** As one that ends: all its work, then its connections. */
  leave(): Promise<void>;
}

/** Opens the store of an instance, whose name is its version. */
async function open(test: TestContext, databaseUrl: string, name: string, url = databaseUrl): Promise<Member> {
  const logged: [unknown, string | undefined][] = [];
  const keep: Log['warn'] = (fields, message) => {
    // The server of the tests runs without fsync and without a standby.
    if (!/^(fsync|synchronous_standby_names) is /.test(message ?? '')) logged.push([fields, message]);
  };
  const log: Log = { ...silentLog, warn: keep, error: keep };
  const opened = await openInstance(url, { log, instance: { version: name, files: noFiles } });
  const { store, leases, sharing } = opened;
  const news: News[] = [];
  sharing.onNews((one) => news.push(one));
  let isLeft = false;
  const leave = async () => {
    if (isLeft) return;
    isLeft = true;
    await leases.stop();
    await store.close();
  };
  test.after(leave);
  return {
    ...opened,
    name,
    logged,
    news,
    insert: (id) => store.commit([store.change.insertTransaction(aTransaction({ id }))]),
    row: async () => (await listPostgresInstances(databaseUrl)).find(({ version }) => version === name),
    leave,
  };
}

interface JoinOptions {
  readonly floor?: Floor;
  readonly units?: readonly string[];
  readonly kind?: LeaseKind;
  readonly url?: string;
}

/** Opens the store of an instance, which shares in the work from then on. */
async function join(test: TestContext, databaseUrl: string, name: string, options: JoinOptions = {}): Promise<Member> {
  const { floor = createFloor(), units = [], kind = 'lane', url } = options;
  const member = await open(test, databaseUrl, name, url);
  await member.leases.add(kind, floor.worksOf(name, units));
  await member.leases.start();
  return member;
}

/** An instance whose connections lead through a proxy. */
async function joinBehindProxy(
  test: TestContext,
  databaseUrl: string,
  name: string,
  options: JoinOptions = {},
): Promise<Member & { readonly proxy: TcpProxy }> {
  const proxy = await startTcpProxy(Number(new URL(databaseUrl).port));
  test.after(() => proxy.stop());
  const through = new URL(databaseUrl);
  through.port = String(proxy.port);
  return { ...(await join(test, databaseUrl, name, { ...options, url: through.href })), proxy };
}

const unitsFrom = (count: number) => Array.from({ length: count }, (_, index) => `unit-${index}`);

/** Resolves when each instance works on so many units, and each unit has one instance. */
async function untilShared(floor: Floor, units: readonly string[], counts: Readonly<Record<string, number>>, timeoutMs = 20_000) {
  const isShared = () =>
    units.every((unit) => floor.doers(unit).length === 1) && Object.entries(counts).every(([name, count]) => floor.count(name) === count);
  await waitFor(`the units to be shared ${JSON.stringify(counts)}`, () => isShared() || undefined, timeoutMs);
}

async function storedIds(databaseUrl: string): Promise<readonly string[]> {
  return (await runSql<{ id: string }>(databaseUrl, 'select id from transactions order by seq')).map(({ id }) => id);
}

/** Every connection of an instance that is not the one with which it commits. */
const endListeners = `select pg_terminate_backend(pid) from pg_stat_activity where application_name like $1
  and pid not in (select pid from pg_locks where locktype = 'advisory')`;

describe('instances that share a PostgreSQL database', () => {
  it('share the units evenly, move no more than needed when one joins, and take what one gives up that stops', async (test) => {
    const databaseUrl = await server.newDatabase();
    const floor = createFloor();
    const units = unitsFrom(9);
    await join(test, databaseUrl, 'a', { floor, units });
    await untilShared(floor, units, { a: 9 });
    const b = await join(test, databaseUrl, 'b', { floor, units });
    await untilShared(floor, units, { a: 5, b: 4 });
    assert.equal(floor.moves(), 9 + 4);
    await join(test, databaseUrl, 'c', { floor, units });
    await untilShared(floor, units, { a: 3, b: 3, c: 3 });
    assert.equal(floor.moves(), 9 + 4 + 3);
    const beforeMs = performance.now();
    await b.leave();
    assert.equal(floor.count('b'), 0);
    await untilShared(floor, units, { b: 0 });
    test.diagnostic(`taken over ${Math.round(performance.now() - beforeMs)} ms after the stop began`);
    assert.deepEqual([floor.count('a'), floor.count('c')].sort(), [4, 5]);
    assert.deepEqual([...floor.twice], []);
  });

  it('take over from all those that look often, if these hang at once', async (test) => {
    const databaseUrl = await server.newDatabase();
    const floor = createFloor();
    const units = unitsFrom(10);
    const all: Awaited<ReturnType<typeof joinBehindProxy>>[] = [];
    for (const name of ['a', 'b', 'c', 'd', 'e']) all.push(await joinBehindProxy(test, databaseUrl, name, { floor, units }));
    await untilShared(floor, units, Object.fromEntries(all.map(({ name }) => [name, 2])));
    const inOrder = all.sort((a, b) => Number(a.sharing.ownId()) - Number(b.sharing.ownId()));
    const hung = inOrder.slice(0, 3);
    for (const { proxy } of hung) proxy.hang();
    const [one, other] = inOrder.slice(3).map(({ name }) => name);
    const beforeMs = performance.now();
    // What hangs works on until it notices: the commits of its work fail.
    const isTaken = () => units.every((unit) => floor.doers(unit).some((name) => name === one || name === other));
    await waitFor('the others to take over', async () => isTaken() || undefined, 15_000);
    test.diagnostic(`taken over after ${Math.round(performance.now() - beforeMs)} ms`);
    for (const { proxy } of hung) proxy.heal();
  });

  it('share each kind of work apart from the others', async (test) => {
    const databaseUrl = await server.newDatabase();
    const floor = createFloor();
    const works = { lane: unitsFrom(2), notification: ['slice-1', 'slice-2'], housekeeping: ['cleaning'] } as const;
    for (const name of ['a', 'b']) {
      const member = await open(test, databaseUrl, name);
      for (const kind of ['lane', 'notification', 'housekeeping'] as const) await member.leases.add(kind, floor.worksOf(name, works[kind]));
      await member.leases.start();
    }
    const doersOf = (units: readonly string[]) => units.flatMap((unit) => floor.doers(unit)).sort();
    await waitFor('both to work on each kind', () =>
      doersOf(works.lane).join() === 'a,b' && doersOf(works.notification).join() === 'a,b' ? true : undefined,
    );
    assert.equal(doersOf(works.housekeeping).length, 1);
    assert.deepEqual([...floor.twice], []);
  });

  it('take up a unit that is added later, and none that was removed', async (test) => {
    const databaseUrl = await server.newDatabase();
    const floor = createFloor();
    const a = await join(test, databaseUrl, 'a', { floor, units: ['first'] });
    const b = await join(test, databaseUrl, 'b', { floor, units: ['first'] });
    await a.leases.add('lane', floor.worksOf('a', ['second']));
    await b.leases.add('lane', floor.worksOf('b', ['second']));
    await untilShared(floor, ['first', 'second'], { a: 1, b: 1 });
    await a.leases.remove('lane', 'second');
    await b.leases.remove('lane', 'second');
    assert.deepEqual(floor.doers('second'), []);
    assert.deepEqual(await runSql(databaseUrl, 'select key from leases'), [{ key: 'first' }]);
  });

  it('take over the work of an instance whose connection is gone', async (test) => {
    const databaseUrl = await server.newDatabase();
    const floor = createFloor();
    const units = unitsFrom(4);
    const a = await joinBehindProxy(test, databaseUrl, 'a', { floor, units });
    const b = await join(test, databaseUrl, 'b', { floor, units });
    await untilShared(floor, units, { a: 2, b: 2 });
    a.proxy.fateOf(() => 'cut before');
    a.proxy.cut();
    await waitFor('the other one to do all work', () => (floor.count('b') === 4 ? true : undefined));
    assert.deepEqual(
      (await listPostgresInstances(databaseUrl)).map(({ version, lanes }) => `${version} ${lanes}`),
      ['b 4'],
    );
    // It joins again as soon as it can.
    a.proxy.fateOf(() => 'pass');
    await untilShared(floor, units, { a: 2, b: 2 });
    await a.insert('again');
    assert.deepEqual(await storedIds(databaseUrl), ['again']);
    await b.leave();
    await untilShared(floor, units, { a: 4 });
  });

  it('end the connection of an instance that is silent, and take over; when it goes on, it joins again under another id', async (test) => {
    const databaseUrl = await server.newDatabase();
    const floor = createFloor();
    const units = unitsFrom(4);
    const a = await joinBehindProxy(test, databaseUrl, 'a', { floor, units });
    const b = await join(test, databaseUrl, 'b', { floor, units });
    await untilShared(floor, units, { a: 2, b: 2 });
    const before = await a.row();
    a.proxy.hang();
    await waitFor('the other one to do all work', () => (floor.count('b') === 4 ? true : undefined), 30_000);
    assert.equal(await a.row(), undefined);
    const sentence = 'another instance stopped responding; terminating its database connection';
    assert.ok(b.logged.some(([, message]) => message === sentence));
    a.proxy.heal();
    a.proxy.cut();
    await untilShared(floor, units, { a: 2, b: 2 });
    const after = await a.row();
    assert.equal(after?.state, 'sharing');
    assert.notEqual(after?.id, before?.id);
  });

  it('keep an instance that is healthy, however many messages about leases make the others look', async (test) => {
    const databaseUrl = await server.newDatabase();
    const floor = createFloor();
    const units = unitsFrom(4);
    const members = [await join(test, databaseUrl, 'a', { floor, units }), await join(test, databaseUrl, 'b', { floor, units })];
    await untilShared(floor, units, { a: 2, b: 2 });
    const rowsOf = async () => (await listPostgresInstances(databaseUrl)).map(({ id }) => id);
    const before = await rowsOf();
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    test.after(() => client.end());
    const { rows } = await client.query<{ schema: string }>('select current_schema as schema');
    const channel = `relayer_${rows[0]?.schema}`;
    // Of an unknown version, which may have changed any lease.
    for (let message = 0; message < 5_000; message += 1) await client.query('select pg_notify($1, $2)', [channel, `${message}`]);
    assert.deepEqual(
      members.flatMap(({ logged }) => logged.map(([, sentence]) => sentence)),
      [],
    );
    assert.deepEqual(await rowsOf(), before);
  });

  it('keep an instance whose connections are cut again and again: it connects again, and keeps its work', async (test) => {
    const databaseUrl = await server.newDatabase();
    const floor = createFloor();
    const units = unitsFrom(4);
    const a = await join(test, databaseUrl, 'a', { floor, units });
    const b = await join(test, databaseUrl, 'b', { floor, units });
    await untilShared(floor, units, { a: 2, b: 2 });
    const moves = floor.moves();
    const ids = async () => (await listPostgresInstances(databaseUrl)).map(({ id }) => id);
    const before = await ids();
    for (let cut = 0; cut < 5; cut += 1) {
      await runSql(databaseUrl, `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'relayer%'`);
      for (const member of [a, b])
        await waitFor('it to write again', () =>
          member.insert(`cut-${cut}-${member.name}`).then(
            () => true,
            () => undefined,
          ),
        );
    }
    assert.deepEqual(await ids(), before);
    assert.equal(floor.moves(), moves);
  });

  it('never end the connection of an instance for which the server works', async (test) => {
    const databaseUrl = await server.newDatabase();
    const floor = createFloor();
    const units = unitsFrom(2);
    const a = await join(test, databaseUrl, 'a', { floor, units });
    await join(test, databaseUrl, 'b', { floor, units });
    await untilShared(floor, units, { a: 1, b: 1 });
    // Longer than a silent instance has.
    await runSql(
      databaseUrl,
      `create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(8); return new; end $$;
       create trigger slow before insert on transactions for each row when (new.id = 'slow') execute function slow()`,
    );
    const before = await a.row();
    await a.insert('slow');
    assert.equal((await a.row())?.id, before?.id);
    assert.deepEqual(a.logged, []);
  });

  it('survive a restart of the server, and share the work again', async (test) => {
    const databaseUrl = await server.newDatabase();
    const floor = createFloor();
    const units = unitsFrom(6);
    const members = [];
    for (const name of ['a', 'b', 'c']) members.push(await join(test, databaseUrl, name, { floor, units }));
    await untilShared(floor, units, { a: 2, b: 2, c: 2 });
    await server.halt();
    await server.start();
    for (const member of members)
      await waitFor('it to write again', () =>
        member.insert(`after-${member.name}`).then(
          () => true,
          () => undefined,
        ),
      );
    await untilShared(floor, units, { a: 2, b: 2, c: 2 });
  });

  it('give up a unit whose lease another one has: two never work on it for long', async (test) => {
    const databaseUrl = await server.newDatabase();
    const floor = createFloor();
    const units = unitsFrom(2);
    await join(test, databaseUrl, 'a', { floor, units });
    await join(test, databaseUrl, 'b', { floor, units });
    await untilShared(floor, units, { a: 1, b: 1 });
    const [first = '', second = ''] = units;
    const wanted = [...floor.doers(first), ...floor.doers(second)].reverse().join();
    // Each gets the lease of the other.
    await runSql(databaseUrl, 'update leases set holder = (select sum(number) from instances where number > 1) - holder');
    await waitFor('the units to change hands', () =>
      [...floor.doers(first), ...floor.doers(second)].join() === wanted ? true : undefined,
    );
  });
});

describe('an instance that was removed', () => {
  it('can commit nothing under its earlier record, and logs how many commits were refused', async (test) => {
    const databaseUrl = await server.newDatabase();
    const a = await join(test, databaseUrl, 'a');
    await join(test, databaseUrl, 'b');
    await a.insert('one');
    await runSql(databaseUrl, removalOf(`version = 'a'`));
    const stale = await Promise.allSettled(['two', 'three', 'four'].map((id) => a.insert(id)));
    for (const one of stale) assert.ok(one.status === 'rejected' && one.reason instanceof StoreAwayError);
    await waitFor('it to join again', async () => ((await a.row())?.state === 'sharing' ? true : undefined));
    await a.insert('five');
    assert.deepEqual(await storedIds(databaseUrl), ['one', 'five']);
    const counts = a.logged.flatMap(([fields]) => (fields as { refusedCommits?: number }).refusedCommits ?? []);
    assert.equal(
      counts.reduce((sum, count) => sum + count, 0),
      3,
    );
  });

  it('commits nothing that waited for its connection meanwhile', async (test) => {
    const databaseUrl = await server.newDatabase();
    const a = await joinBehindProxy(test, databaseUrl, 'a');
    const b = await join(test, databaseUrl, 'b');
    a.proxy.hang();
    await waitFor('it to be removed', async () => ((await a.row()) === undefined ? true : undefined), 30_000);
    let isWaiting = false;
    let writing: Promise<string> | null = null;
    a.proxy.fateOf((chunk) => {
      // The question whether its record is there.
      if (isWaiting || !chunk.includes('set "checked_at_ms"')) return 'pass';
      isWaiting = true;
      writing = a.insert('stale').then(() => 'written', String);
      return 'pass';
    });
    // It notices the loss only now, as a process that was stopped.
    a.proxy.heal();
    a.proxy.cut();
    await waitFor('it to return', () => writing ?? undefined);
    await waitFor('it to join again', async () => ((await a.row())?.state === 'sharing' ? true : undefined));
    assert.match((await writing) ?? '', /the database is unavailable/);
    assert.deepEqual(await storedIds(databaseUrl), []);
    await b.insert('later');
  });

  it('ends all its work before it joins again', async (test) => {
    const databaseUrl = await server.newDatabase();
    const ending = deferred();
    const begun: string[] = [];
    const a = await open(test, databaseUrl, 'a');
    const work: Work = {
      begin: async () => void begun.push('begun'),
      end(isTakenOver) {
        assert.equal(isTakenOver, begun.length === 1);
        return ending.promise;
      },
    };
    await a.leases.add('lane', new Map([['unit', work]]));
    await a.leases.start();
    await runSql(databaseUrl, removalOf(`version = 'a'`));
    await assert.rejects(a.insert('stale'), StoreAwayError);
    const b = await join(test, databaseUrl, 'b', { units: ['of b'] });
    await b.insert('of b');
    assert.equal(await a.row(), undefined);
    await assert.rejects(a.insert('still stale'), StoreAwayError);
    ending.resolve();
    await waitFor('it to join again', async () => ((await a.row())?.state === 'sharing' ? true : undefined));
    await waitFor('its work to begin again', () => (begun.length === 2 ? true : undefined));
    assert.deepEqual(await storedIds(databaseUrl), ['of b']);
  });

  it('still drains after it has joined again, if it was told to', async (test) => {
    const databaseUrl = await server.newDatabase();
    const floor = createFloor();
    const units = unitsFrom(2);
    const a = await join(test, databaseUrl, 'a', { floor, units });
    const b = await join(test, databaseUrl, 'b', { floor, units });
    assert.equal(await b.sharing.drain((await a.row())?.id ?? '', false), true);
    await untilShared(floor, units, { a: 0, b: 2 });
    await waitFor('it to know', () =>
      a.sharing.instances().some(({ version, state }) => version === 'a' && state === 'draining') ? true : undefined,
    );
    await runSql(databaseUrl, removalOf(`version = 'a'`));
    await assert.rejects(a.insert('stale'), StoreAwayError);
    const again = await waitFor('it to join again', () => a.row());
    assert.equal(again.state, 'draining');
  });

  it('an earlier connection of an instance that has returned can write nothing', async (test) => {
    const databaseUrl = await server.newDatabase();
    const a = await join(test, databaseUrl, 'a');
    type Row = { number: number; token: string; backend_pid: number; backend_started: string; before: number | null };
    const own = `select number, token, backend_pid, backend_started, (select max(batch)::int from batches where number = instances.number) as before
      from instances where number > 1`;
    const [earlier] = await runSql<Row>(databaseUrl, own);
    await runSql(databaseUrl, 'select pg_terminate_backend($1)', [earlier?.backend_pid]);
    const later = await waitFor('it to return', async () => {
      const [row] = await runSql<Row>(databaseUrl, own);
      return row?.backend_pid === earlier?.backend_pid ? undefined : row;
    });
    const { sql, bind } = instanceStatements(postgres).beginBatch;
    const begun = async (row: Row | undefined) => {
      assert.ok(row !== undefined);
      return (await runSql(databaseUrl, `${sql} returning number`, bind({ ...row, batch: 1_000_000 }))).length;
    };
    assert.equal(await begun(earlier), 0);
    assert.equal(await begun(later), 1);
    await runSql(databaseUrl, 'delete from batches where batch = 1000000');
    await a.insert('one');
  });

  it('an instance ends no connection that holds the lock of another schema, which a pooler may have given to another client', async () => {
    const databaseUrl = await server.newDatabase();
    const earlier = await takePostgresLock(databaseUrl, { isShared: true });
    await earlier.writer.query('select pg_advisory_unlock_all()');
    await earlier.writer.query(`select pg_advisory_lock(1919249012, hashtext('another'))`);
    const next = await takePostgresLock(databaseUrl, { isShared: true, replaces: earlier.backend });
    await earlier.writer.query('select 1');
    await endHolder(next.writer, next.schema, earlier.backend);
    await earlier.writer.query('select 1');
    await endHolder(next.writer, 'another', earlier.backend);
    await assert.rejects(earlier.writer.query('select 1'));
    await next.writer.end();
  });
});

describe('instances and commands on PostgreSQL', () => {
  it('a command that needs the database alone is refused while instances share it, and instances while it works', async (test) => {
    const databaseUrl = await server.newDatabase();
    const a = await join(test, databaseUrl, 'a');
    const b = await join(test, databaseUrl, 'b');
    await assert.rejects(openStore(databaseUrl, { log: silentLog }), DatabaseLockedError);
    await a.leave();
    await assert.rejects(openStore(databaseUrl, { log: silentLog }), DatabaseLockedError);
    await b.leave();
    const command = await openStore(databaseUrl, { log: silentLog });
    await assert.rejects(open(test, databaseUrl, 'c'), DatabaseLockedError);
    await command.store.close();
    await join(test, databaseUrl, 'c');
  });

  it('an instance that a command has removed while its connection was lost joins again after the command', async (test) => {
    const databaseUrl = await server.newDatabase();
    const floor = createFloor();
    const a = await joinBehindProxy(test, databaseUrl, 'a', { floor, units: ['unit'] });
    a.proxy.fateOf(() => 'cut before');
    a.proxy.cut();
    const command = await waitFor('the command to get the database', () =>
      openStore(databaseUrl, { log: silentLog }).catch(() => undefined),
    );
    a.proxy.fateOf(() => 'pass');
    await command.store.commit([command.store.change.insertTransaction(aTransaction({ id: 'of the command' }))]);
    await assert.rejects(a.insert('stale'), StoreAwayError);
    await command.store.close();
    await waitFor('it to join again', async () => ((await a.row())?.state === 'sharing' ? true : undefined));
    await waitFor('its work to begin again', async () => ((await a.row())?.lanes === 1 ? true : undefined));
    assert.deepEqual(await storedIds(databaseUrl), ['of the command']);
  });

  it('a command that has lost its connection can write nothing once an instance has joined', async (test) => {
    const databaseUrl = await server.newDatabase();
    const proxy = await startTcpProxy(Number(new URL(databaseUrl).port));
    test.after(() => proxy.stop());
    const through = new URL(databaseUrl);
    through.port = String(proxy.port);
    const { store, lost } = await openStore(through.href, { log: silentLog });
    test.after(() => store.close());
    proxy.fateOf(() => 'cut before');
    proxy.cut();
    await waitFor('an instance to join', () => join(test, databaseUrl, 'a').catch(() => undefined));
    proxy.fateOf(() => 'pass');
    assert.match((await lost).message, /another process took over/);
    await assert.rejects(store.commit([store.change.insertTransaction(aTransaction({ id: 'stale' }))]), /another process took over/);
    assert.deepEqual(await storedIds(databaseUrl), []);
  });

  it('migrations run beside instances', async (test) => {
    const databaseUrl = await server.newDatabase();
    const a = await join(test, databaseUrl, 'a');
    assert.deepEqual(await migrateDatabase(databaseUrl, { log: silentLog }), []);
    await runSql(databaseUrl, 'delete from kysely_migration; drop schema public cascade; create schema public');
    assert.deepEqual(await migrateDatabase(databaseUrl, { log: silentLog }), migrationNames);
    await assert.rejects(a.insert('one'), StoreAwayError);
  });

  it('relayer instances reads each with its version, host, process id and lanes, oldest first; other schemas have lists of their own', async (test) => {
    const databaseUrl = await server.newDatabase();
    assert.deepEqual(await listPostgresInstances(databaseUrl), []);
    const beforeMs = Date.now();
    const floor = createFloor();
    const units = unitsFrom(3);
    await join(test, databaseUrl, '1.2.3', { floor, units });
    await open(test, databaseUrl, '1.2.4-rc.1');
    const listed = await listPostgresInstances(databaseUrl);
    const here = { host: hostname(), pid: process.pid };
    assert.deepEqual(
      listed.map(({ version, host, pid, state, lanes }) => ({ version, host, pid, state, lanes })),
      [
        { version: '1.2.3', ...here, state: 'sharing', lanes: 3 },
        { version: '1.2.4-rc.1', ...here, state: 'starting', lanes: 0 },
      ],
    );
    for (const { sinceMs, seenAtMs } of listed) {
      assert.ok(sinceMs >= beforeMs && sinceMs <= Date.now(), String(sinceMs));
      assert.ok(seenAtMs !== null && seenAtMs >= beforeMs && seenAtMs <= Date.now(), String(seenAtMs));
    }
    await runSql(databaseUrl, 'create schema other');
    const other = new URL(databaseUrl);
    other.searchParams.set('options', '-c search_path=other');
    assert.deepEqual(await listPostgresInstances(other.href), []);
  });
});

describe('news between instances', () => {
  const relayerNews: News = { relayers: new Set(['relayer-1']), hasEvents: false, hasDefinitions: false };
  const has = (member: Member, wanted: News) =>
    member.news.some(({ relayers, hasEvents, hasDefinitions }) =>
      relayers === 'all'
        ? wanted.relayers === 'all'
        : wanted.relayers !== 'all' &&
          [...wanted.relayers].every((id) => relayers.has(id)) &&
          (hasEvents || !wanted.hasEvents) &&
          (hasDefinitions || !wanted.hasDefinitions),
    );
  let inserted = 0;
  /** Resolves when the hearer has heard of a commit of the teller, and so of all that the teller has told before. */
  async function hears(hearer: Member, teller: Member): Promise<void> {
    const toldAll = () => hearer.news.filter(({ relayers }) => relayers === 'all').length;
    for (let isHeard = false; !isHeard; ) {
      inserted += 1;
      const relayerId = `settled-${inserted}`;
      const before = toldAll();
      await teller.store.commit([teller.store.change.insertTransaction(aTransaction({ id: relayerId, relayerId }))]);
      isHeard = await waitFor('news of the commit', () => {
        if (hearer.news.some(({ relayers }) => relayers !== 'all' && relayers.has(relayerId))) return true;
        // The teller may have told of its commit together with its return, as news of everything.
        return toldAll() > before ? false : undefined;
      });
    }
  }

  /** Forgets the news so far, after the last that came from the start. */
  async function settled(a: Member, b: Member): Promise<void> {
    for (const { sharing } of [a, b]) await waitFor('both to be seen', () => (sharing.instances().length === 2 ? true : undefined));
    await hears(b, a);
    await hears(a, b);
    for (const { news } of [a, b]) (news as News[]).length = 0;
  }

  it('each hears of the commits of the others, and not of its own', async (test) => {
    const databaseUrl = await server.newDatabase();
    const a = await join(test, databaseUrl, 'a');
    const b = await join(test, databaseUrl, 'b');
    await settled(a, b);
    await a.insert('one');
    await waitFor('news of a transaction', () => (has(b, relayerNews) ? true : undefined));
    await a.store.commit([a.store.change.insertNotification(aNotification({ id: 'hook' }))]);
    await a.store.commit([a.store.change.insertEvent(anEvent({ id: 'event', notificationId: 'hook' }))]);
    await waitFor('news of an event', () => (b.news.some(({ hasEvents }) => hasEvents) ? true : undefined));
    assert.deepEqual(a.news, []);
  });

  it('an instance whose listening connection was cut is told to look at everything', async (test) => {
    const databaseUrl = await server.newDatabase();
    const a = await join(test, databaseUrl, 'a');
    const b = await join(test, databaseUrl, 'b');
    await settled(a, b);
    await runSql(databaseUrl, endListeners, ['relayer b%']);
    await waitFor('all news', () => (has(b, allNews) ? true : undefined));
    await settled(a, b);
  });

  it('the others look at everything when an instance is gone: it may not have told its last commits', async (test) => {
    const databaseUrl = await server.newDatabase();
    const a = await joinBehindProxy(test, databaseUrl, 'a');
    const b = await join(test, databaseUrl, 'b');
    await settled(a, b);
    let isDead = false;
    a.proxy.fateOf((chunk) => {
      if (chunk.includes('pg_notify')) isDead = true;
      return isDead ? 'cut before' : 'pass';
    });
    await a.insert('untold');
    await waitFor('it to be dead', () => isDead || undefined);
    a.proxy.cut();
    await waitFor('all news', () => (has(b, allNews) ? true : undefined));
    assert.ok((await storedIds(databaseUrl)).includes('untold'));
  });

  it('an instance that joined unseen is told of what has changed meanwhile', async (test) => {
    const databaseUrl = await server.newDatabase();
    const a = await join(test, databaseUrl, 'a');
    const beginning = deferred();
    // Its look at the others waits for this.
    const added = a.leases.add('lane', new Map([['unit', { begin: () => beginning.promise, end: async () => undefined }]]));
    await waitFor('its work to begin', async () => ((await a.row())?.lanes === 1 ? true : undefined));
    const b = await join(test, databaseUrl, 'b');
    await b.insert('of b');
    (b.news as News[]).length = 0;
    await a.insert('one');
    beginning.resolve();
    await added;
    await waitFor('news', () => (has(b, relayerNews) || has(b, allNews) ? true : undefined));
  });

  it('a commit whose notification failed is told again', async (test) => {
    const databaseUrl = await server.newDatabase();
    const a = await joinBehindProxy(test, databaseUrl, 'a');
    const b = await join(test, databaseUrl, 'b');
    await settled(a, b);
    let isPassed = false;
    a.proxy.fateOf((chunk) => {
      if (isPassed || !chunk.includes('pg_notify')) return 'pass';
      isPassed = true;
      return 'cut before';
    });
    await a.insert('one');
    await waitFor('all news', () => (has(b, allNews) ? true : undefined));
  });

  it('a commit that got no answer is told when the connection is back', async (test) => {
    const databaseUrl = await server.newDatabase();
    const ending = deferred();
    test.after(() => ending.resolve());
    const a = await joinBehindProxy(test, databaseUrl, 'a');
    let isEnding = false;
    const work: Work = {
      begin: async () => undefined,
      end() {
        isEnding = true;
        return ending.promise;
      },
    };
    await a.leases.add('lane', new Map([['unit', work]]));
    await waitFor('its work to begin', async () => ((await a.row())?.lanes === 1 ? true : undefined));
    const b = await join(test, databaseUrl, 'b');
    await settled(a, b);
    // It does not look at the leases meanwhile: after a look that fails, it connects to the others again, and tells them to look at everything.
    const removed = a.leases.remove('lane', 'unit');
    await waitFor('the work to end', () => isEnding || undefined);
    let isCut = false;
    a.proxy.fateOf((chunk) => {
      // A connection that replaces the one that was lost ends that one first.
      if (isCut) return chunk.includes('pg_terminate_backend') ? 'cut before' : 'pass';
      isCut = chunk.includes('commit\0');
      // The other one must not see that the connection is lost: it would remove this instance, and look at everything.
      return isCut ? 'cut client' : 'pass';
    });
    await assert.rejects(a.insert('unanswered'), StoreAwayError);
    await waitFor('it to be stored', async () => (await storedIds(databaseUrl)).includes('unanswered') || undefined);
    a.proxy.fateOf(() => 'pass');
    await waitFor('the connection to be back', () => !a.isAway() || undefined);
    await hears(b, a);
    assert.ok(has(b, allNews));
    ending.resolve();
    await removed;
  });
});
