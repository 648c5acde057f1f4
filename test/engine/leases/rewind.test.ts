import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { type OpenedInstance, openInstance } from '../../../src/app/open-instance.js';
import { SigningHeldError } from '../../../src/core/ports/database-state.js';
import { ConflictError, StoreAwayError } from '../../../src/core/ports/store/change.js';
import { systemIds } from '../../../src/core/records/ids.js';
import { windowOf } from '../../../src/core/records/judgement.js';
import { createSpendLedger } from '../../../src/core/rules/spend-ledger.js';
import { reserveSignature } from '../../../src/core/rules/typed-data-rules.js';
import type { Ended } from '../../../src/core/transaction/end-waiting.js';
import { systemClock } from '../../../src/core/work/clock.js';
import type { Log } from '../../../src/core/work/log.js';
import { openStore } from '../../../src/storage/open-store.js';
import { restore } from '../../../src/storage/restore.js';
import { noBlockTimes } from '../../support/block-times.js';
import { noFiles } from '../../support/no-files.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { runSql, startPostgresPair } from '../../support/postgres-pair.js';
import { anAttempt, aTransaction, silentLog } from '../../support/stored-samples.js';
import { waitFor } from '../../support/wait-for.js';

let server: TestPostgres;
before(async () => {
  server = await startPostgres();
});
after(() => server.stop());

const unit = 'evm:1/0x1';

interface Instance extends OpenedInstance {
  /** True while it works on the unit. */
  isWorking(): boolean;
  readonly errors: readonly string[];
  insert(id: string): Promise<void>;
  leave(): Promise<void>;
}

/** Opens an instance that shares the leases, with one unit of work. */
async function join(test: TestContext, databaseUrl: string, returnPatienceMs = 60_000): Promise<Instance> {
  const errors: string[] = [];
  const log: Log = { ...silentLog, error: (_, message = '') => void errors.push(message) };
  const opened = await openInstance(databaseUrl, { log, returnPatienceMs, instance: { version: '1.0.0', files: noFiles } });
  const { store, leases } = opened;
  let isWorking = false;
  let isLeft = false;
  const leave = async () => {
    if (isLeft) return;
    isLeft = true;
    await leases.stop();
    await store.close();
  };
  test.after(leave);
  const work = {
    begin: async () => {
      isWorking = true;
    },
    end: async () => {
      isWorking = false;
    },
  };
  await leases.add('lane', new Map([[unit, work]]));
  await leases.start();
  const insert = (id: string) => store.commit([store.change.insertTransaction(aTransaction({ id }))]);
  return { ...opened, isWorking: () => isWorking, errors, insert, leave };
}

/** Resolves when the instances know of the rewind; then none may work or sign, but they accept transactions. */
async function untilHeld(...instances: readonly Instance[]): Promise<void> {
  for (const { sharing, store, isWorking, insert } of instances) {
    await waitFor('an instance to know of the rewind', async () => sharing.rewind() ?? undefined);
    await waitFor('it to end its work', async () => (isWorking() ? undefined : true));
    const id = `held-${sharing.ownId()}`;
    await waitFor('it to accept a transaction', () =>
      insert(id)
        .then(() => true)
        .catch(() => undefined),
    );
    const attempt = store.change.insertAttempt(anAttempt({ transactionId: id }));
    await assert.rejects(store.commit([attempt]), (error) => error instanceof SigningHeldError && /nothing is signed/.test(error.message));
  }
}

/** Ends the instances, restores the database, and expects the next instance to work again. */
async function untilRestored(test: TestContext, databaseUrl: string, instances: readonly Instance[]): Promise<void> {
  for (const { leave } of instances) await leave();
  const failed: string[] = [];
  const onEnded = ({ ended }: Ended) => void failed.push(...ended.map(({ id }) => id));
  await restore(databaseUrl, null, silentLog, { onEnded });
  assert.notEqual(failed.length, 0);
  const next = await join(test, databaseUrl);
  assert.deepEqual([next.sharing.rewind(), next.isWorking()], [null, true]);
}

/** Records an instance that is gone: it was connected to a server of this timeline. */
async function leaveGone(databaseUrl: string, timeline: number, isSynchronous: boolean): Promise<void> {
  await runSql(
    databaseUrl,
    `insert into instances (number, host, pid, token, since_ms, checked_at_ms, version, config_hashes, backend_pid, backend_started, state, timeline, is_synchronous)
     values (77, 'gone', 1, 'token', 0, 0, '1.0.0', '{}', 1, '0', 'sharing', ${timeline}, ${Number(isSynchronous)})`,
  );
}

const timelineOf = `select ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int as timeline`;

describe('a database that goes back in time', () => {
  it('holds every instance until relayer restore, also those that lost nothing and those that join later', async (test) => {
    const databaseUrl = await server.newDatabase();
    const [a, b] = [await join(test, databaseUrl), await join(test, databaseUrl)];
    await a.insert('kept');
    await server.keep();
    await waitFor('a to write', () =>
      a
        .insert('lost')
        .then(() => true)
        .catch(() => undefined),
    );
    await server.goBack();
    await untilHeld(a, b);
    assert.equal(a.errors.filter((message) => message.startsWith('the database lacks commits')).length, 2);
    const later = await join(test, databaseUrl);
    await untilHeld(later);
    assert.match(later.sharing.rewind()?.evidence ?? '', /^instance \d+ committed batch /);
    await assert.rejects(openStore(databaseUrl, { log: silentLog }));
    await untilRestored(test, databaseUrl, [a, b, later]);
  });

  it('is noticed by an instance that joined after the moment to which it goes back', async (test) => {
    const databaseUrl = await server.newDatabase();
    await (await join(test, databaseUrl)).leave();
    await server.keep();
    const a = await join(test, databaseUrl);
    await a.insert('lost');
    await server.goBack();
    await untilHeld(a);
    assert.match(a.sharing.rewind()?.evidence ?? '', /is not in the database, and no instance removed it/);
    await untilRestored(test, databaseUrl, [a]);
  });

  it('is noticed by every instance if other tables are put in place while they run, and is recorded again if that overwrites it', async (test) => {
    const databaseUrl = await server.newDatabase();
    const [a, b] = [await join(test, databaseUrl), await join(test, databaseUrl)];
    await a.insert('kept');
    // As pg_restore --clean does with each table.
    await runSql(databaseUrl, 'alter table transactions rename to before; create table transactions (like before including all)');
    await untilHeld(a, b);
    assert.match(b.sharing.rewind()?.evidence ?? '', /^other tables were put in place/);
    await runSql(databaseUrl, 'update database_ids set rewound_at_ms = null, rewind_evidence = null');
    await waitFor('the finding to be recorded again', async () => {
      const [row] = await runSql<{ evidence: string | null }>(databaseUrl, 'select rewind_evidence as evidence from database_ids');
      return row?.evidence ?? undefined;
    });
    for (const { sharing, isWorking } of [a, b]) assert.deepEqual([sharing.hold() !== null, isWorking()], [true, false]);
    await untilRestored(test, databaseUrl, [a, b]);
  });

  it('is noticed at the next commit if its rows are replaced under a connection that stays', async (test) => {
    const databaseUrl = await server.newDatabase();
    const a = await join(test, databaseUrl);
    await a.insert('one');
    await a.insert('two');
    await runSql(databaseUrl, 'delete from batches where batch = (select max(batch) from batches)');
    await assert.rejects(a.insert('three'), (error) => error instanceof StoreAwayError && /relayer restore/.test(error.message));
    await untilHeld(a);
    await untilRestored(test, databaseUrl, [a]);
  });

  it('is not claimed after commits without an answer, whether they were written or not', async (test) => {
    const databaseUrl = await server.newDatabase();
    const a = await join(test, databaseUrl);
    for (let round = 0; round < 20; round += 1) {
      const inserted = Promise.allSettled([1, 2, 3].map((number) => a.insert(`${round}-${number}`)));
      await runSql(
        databaseUrl,
        `select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()`,
      );
      await inserted;
    }
    await waitFor('it to write', () =>
      a
        .insert('last')
        .then(() => true)
        .catch(() => undefined),
    );
    assert.deepEqual([a.sharing.rewind(), a.errors], [null, []]);
  });
});

describe('an instance that did not return after a failover', () => {
  for (const [name, { isOlder, isSynchronous, isHeld }] of Object.entries({
    'holds the others if its commits did not wait for a standby': { isOlder: true, isSynchronous: false, isHeld: true },
    'holds nobody if its commits waited for a standby': { isOlder: true, isSynchronous: true, isHeld: false },
    'holds nobody if it was connected to this server': { isOlder: false, isSynchronous: false, isHeld: false },
  }))
    for (const remover of ['instance', 'command'])
      it(`${name}; removed by ${remover === 'instance' ? 'an instance' : 'a command'}`, async (test) => {
        const databaseUrl = await server.newDatabase();
        await (await join(test, databaseUrl)).leave();
        const [now] = await runSql<{ timeline: number }>(databaseUrl, timelineOf);
        await leaveGone(databaseUrl, (now?.timeline ?? 1) - Number(isOlder), isSynchronous);
        if (remover === 'command') await (await openStore(databaseUrl, { log: silentLog })).store.close();
        const a = await join(test, databaseUrl, 0);
        const removed = `select number from removed_instances where number = 77`;
        await waitFor('the removal', async () => ((await runSql(databaseUrl, removed)).length > 0 ? true : undefined));
        if (isHeld) await untilHeld(a);
        else await waitFor('it to work', async () => (a.isWorking() ? true : undefined));
        assert.equal(a.sharing.rewind() !== null, isHeld);
      });
});

it('after a failover nothing is signed before each instance whose commits waited for no standby has returned', async (test) => {
  const databaseUrl = await server.newDatabase();
  const a = await join(test, databaseUrl);
  await a.insert('one');
  const attempt = () => a.store.commit([a.store.change.insertAttempt(anAttempt({ transactionId: 'one' }))]);
  const ledger = createSpendLedger({ store: a.store, clock: systemClock, blockTimes: noBlockTimes, ids: systemIds });
  const limit = { asset: 'native', amount: 10n, windowMs: 3_600_000, per: 'relayer' } as const;
  const window = windowOf('permits', limit, { apiKeyId: 'k' });
  const sign = () => {
    const until = { ms: Date.now() + 60_000, field: 'message.deadline' };
    const spends = [{ field: 'message.value', window, limit, amount: 7n, until }];
    return reserveSignature({ ledger, store: a.store, database: a.sharing }, 'r1', { ruleId: 'permits', spends });
  };
  const [now] = await runSql<{ timeline: number }>(databaseUrl, timelineOf);
  await leaveGone(databaseUrl, (now?.timeline ?? 1) - 1, false);
  // Before the next look, too.
  await assert.rejects(attempt());
  await assert.rejects(sign(), SigningHeldError);
  assert.deepEqual(await runSql(databaseUrl, 'select hash from attempts'), []);
  assert.deepEqual(await runSql(databaseUrl, 'select name from spend_windows'), []);
  const hold =
    /^the database failed over, and instance 77 \(process 1 on host gone\), which may still work with the earlier server, has not returned/;
  await waitFor('it to say so', async () => (hold.test(a.sharing.hold() ?? '') ? true : undefined));
  await waitFor('it to end its work', async () => (a.isWorking() ? undefined : true));
  await assert.rejects(attempt(), SigningHeldError);
  await runSql(databaseUrl, 'update instances set timeline = timeline + 1 where number = 77');
  await waitFor('it to work again', async () => (a.isWorking() ? true : undefined));
  await attempt();
  await sign();
  assert.equal(a.sharing.rewind(), null);
});

it('an instance whose commits the database lacks does not count as returned', async (test) => {
  const databaseUrl = await server.newDatabase();
  const [a, b] = [await join(test, databaseUrl), await join(test, databaseUrl)];
  await b.insert('before');
  const own = `number = ${b.sharing.ownId()}`;
  // As a standby that lags has it: an earlier server, and none of its last batches.
  await runSql(databaseUrl, `update instances set timeline = timeline - 1, is_synchronous = 0 where ${own}`);
  await runSql(databaseUrl, `delete from batches where ${own}`);
  await runSql(
    databaseUrl,
    `select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()`,
  );
  await untilHeld(a, b);
  const states = await runSql(databaseUrl, `select timeline from instances where ${own}`);
  const [now] = await runSql<{ timeline: number }>(databaseUrl, timelineOf);
  assert.ok(states.length === 0 || Number((states[0] as { timeline: number }).timeline) < (now?.timeline ?? 0));
});

for (const [name, isSynchronous] of [
  ['an instance notes that its commits wait for no standby any more', false],
  ['an instance notes that its commits wait for a standby again', true],
] as const)
  it(name, async (test) => {
    const pair = isSynchronous ? await startPostgresPair() : null;
    test.after(() => pair?.stop());
    const databaseUrl = pair?.url ?? (await server.newDatabase());
    const a = await join(test, databaseUrl);
    const own = `number = ${a.sharing.ownId()}`;
    // As if the setting of the server had changed since it connected.
    await runSql(databaseUrl, `update instances set is_synchronous = ${Number(!isSynchronous)} where ${own}`);
    const state = `select number from instances where ${own} and is_synchronous = ${Number(isSynchronous)}`;
    await waitFor('it to be noted', async () => (await runSql(databaseUrl, state))[0]);
  });

it('an instance that returns some time after a failover holds nobody', async (test) => {
  const databaseUrl = await server.newDatabase();
  const [a, b] = [await join(test, databaseUrl), await join(test, databaseUrl)];
  await b.insert('before');
  const own = `number = ${b.sharing.ownId()}`;
  // The row of an instance that was connected to the earlier server, and does not return while the others look at it many times.
  const [row] = await runSql<{ started: string }>(databaseUrl, `select backend_started as started from instances where ${own}`);
  await runSql(databaseUrl, `update instances set backend_started = '0', timeline = timeline - 1 where ${own}`);
  const gone = () => a.sharing.instances().find(({ id }) => id === b.sharing.ownId())?.seenAtMs === null;
  await waitFor('it to be seen as gone', async () => (gone() ? true : undefined));
  for (let looks = 0; looks < 20; looks += 1) await a.leases.add('lane', new Map());
  await runSql(databaseUrl, `update instances set backend_started = '${row?.started}' where ${own}`);
  await b.insert('after');
  assert.deepEqual([a.sharing.rewind(), b.sharing.rewind()], [null, null]);
});

for (const [name, isLost] of [
  ['lacks its last commit is noticed', true],
  ['has all its commits holds nobody', false],
] as const)
  it(`an instance that was removed and returns to a database that ${name}`, async (test) => {
    const databaseUrl = await server.newDatabase();
    const [a, b] = [await join(test, databaseUrl), await join(test, databaseUrl)];
    for (const id of ['one', 'two', 'three']) await a.insert(id);
    const own = `number = ${a.sharing.ownId()}`;
    // As another instance finds it gone, after a failover that lost its last commit or none.
    const [row] = await runSql<{ pid: number }>(databaseUrl, `select backend_pid as pid from instances where ${own}`);
    if (isLost) await runSql(databaseUrl, `delete from batches where ${own} and batch = (select max(batch) from batches where ${own})`);
    await runSql(
      databaseUrl,
      `insert into removed_instances select number, 1 from instances where ${own}; delete from instances where ${own}`,
    );
    // A later start deletes what is not needed any more.
    const c = await join(test, databaseUrl);
    assert.equal((await runSql(databaseUrl, `select batch from batches where ${own}`)).length, 1);
    await runSql(databaseUrl, `select pg_terminate_backend(${row?.pid})`);
    if (isLost) {
      await untilHeld(a, b, c);
      assert.match(
        b.sharing.rewind()?.evidence ?? '',
        /^instance \d+ committed batch \d+, and the database knows batch \d+ as its last one/,
      );
      return;
    }
    await waitFor('it to join again', async () => (`number = ${a.sharing.ownId()}` === own ? undefined : true));
    await waitFor('it to write', () =>
      a.insert('four').then(
        () => true,
        () => undefined,
      ),
    );
    assert.deepEqual([a.sharing.rewind(), b.sharing.rewind(), c.sharing.rewind()], [null, null, null]);
  });

it('a command that was the first on the database holds nobody after a failover', async (test) => {
  const databaseUrl = await server.newDatabase();
  await (await openStore(databaseUrl, { log: silentLog })).store.close();
  await runSql(databaseUrl, 'update instances set timeline = timeline - 1');
  await (await openStore(databaseUrl, { log: silentLog })).store.close();
  const a = await join(test, databaseUrl);
  assert.equal(a.sharing.rewind(), null);
});

it('an instance that has not looked yet stores no signed attempt either', async (test) => {
  const databaseUrl = await server.newDatabase();
  const a = await join(test, databaseUrl);
  await a.insert('one');
  await runSql(databaseUrl, `update database_ids set rewound_at_ms = 1, rewind_evidence = 'test'`);
  await assert.rejects(a.store.commit([a.store.change.insertAttempt(anAttempt({ transactionId: 'one' }))]));
  assert.deepEqual(await runSql(databaseUrl, 'select hash from attempts'), []);
});

it('payments that no attempt explains are all in the evidence, each once, until an operator accepts them', async (test) => {
  const databaseUrl = await server.newDatabase();
  const { store } = await openStore(databaseUrl, { log: silentLog });
  test.after(() => store.close());
  const record = (hash: string) => store.commit([store.change.recordRewind(`payment ${hash}`, hash)]);
  const evidence = async () => {
    const [row] = await runSql<{ text: string | null; id: string }>(databaseUrl, 'select rewind_evidence as text, id from database_ids');
    return row;
  };
  await record('0xa');
  const first = await evidence();
  await record('0xb');
  await record('0xa');
  assert.deepEqual(await evidence(), { text: 'payment 0xa; payment 0xb', id: first?.id });
  await store.commit([store.change.acceptDatabase()]);
  for (const hash of ['0xa', '0xb']) await assert.rejects(record(hash), ConflictError);
  assert.equal((await evidence())?.text, null);
  await record('0xc');
  assert.equal((await evidence())?.text, 'payment 0xc');
});

it('a copy of the tables is refused by the service and by commands until relayer restore was run', async (test) => {
  const databaseUrl = await server.newDatabase();
  const a = await join(test, databaseUrl);
  await a.insert('waits');
  await a.leave();
  const copyUrl = await server.newDatabase();
  const name = new URL(copyUrl).pathname.slice(1);
  const elsewhere = new URL(databaseUrl);
  elsewhere.pathname = '/postgres';
  await runSql(elsewhere.href, `drop database ${name}`);
  await runSql(elsewhere.href, `create database ${name} template ${new URL(databaseUrl).pathname.slice(1)}`);
  await assert.rejects(join(test, copyUrl), /the database is a copy, such as a restored dump.*run relayer restore/);
  await assert.rejects(openStore(copyUrl, { log: silentLog }), /run relayer restore/);
  await untilRestored(test, copyUrl, []);
  await join(test, databaseUrl);
});

it('a copy that is complete keeps its waiting transactions', async (test) => {
  const databaseUrl = await server.newDatabase();
  const a = await join(test, databaseUrl);
  await a.insert('waits');
  await a.leave();
  // As after pg_upgrade.
  await runSql(databaseUrl, `update database_ids set origin = 'the earlier server'`);
  await assert.rejects(join(test, databaseUrl), /run relayer restore/);
  await restore(databaseUrl, null, silentLog, { isComplete: true });
  const b = await join(test, databaseUrl);
  assert.equal((await b.store.read.transaction('waits'))?.transaction.status, 'pending');
});

it('relayer restore that ends before it has failed what waits keeps the service from starting', async (test) => {
  const databaseUrl = await server.newDatabase();
  const a = await join(test, databaseUrl);
  await a.insert('waits');
  await a.leave();
  await runSql(databaseUrl, `update database_ids set origin = 'the earlier server'`);
  await runSql(databaseUrl, `alter table transactions add constraint only_pending check (status = 'pending')`);
  await assert.rejects(restore(databaseUrl, null, silentLog));
  await assert.rejects(join(test, databaseUrl), /run relayer restore/);
});
