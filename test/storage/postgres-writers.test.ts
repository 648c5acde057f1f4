import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import pg from 'pg';
import { type Change, ConflictError, StoreAwayError } from '../../src/core/ports/store/change.js';
import type { Store } from '../../src/core/ports/store/store.js';
import type { Transaction } from '../../src/core/records/transaction.js';
import { systemClock } from '../../src/core/work/clock.js';
import { createStore } from '../../src/storage/create-store.js';
import { migrateDatabase } from '../../src/storage/open-store.js';
import { openPostgresBeside } from '../../src/storage/postgres/open-postgres.js';
import { postgres } from '../../src/storage/sql/dialect.js';
import { compileStatements } from '../../src/storage/statements/all-statements.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { aNotification, anEvent, aStoredResponse, aTransaction, next, silentLog } from '../support/stored-samples.js';
import { waitFor } from '../support/wait-for.js';

let server: TestPostgres;
before(async () => {
  server = await startPostgres();
});
after(() => server.stop());

/** Opens two stores on one new database, as two processes would. */
async function twoWriters(test: TestContext, setting?: string): Promise<{ stores: readonly [Store, Store]; databaseUrl: string }> {
  const databaseUrl = await server.newDatabase();
  if (setting !== undefined) await query(databaseUrl, `alter database ${new URL(databaseUrl).pathname.slice(1)} ${setting}`);
  await migrateDatabase(databaseUrl, { log: silentLog });
  const open = async () => {
    const store = createStore(await openPostgresBeside(databaseUrl, silentLog), compileStatements(postgres), {
      clock: systemClock,
      log: silentLog,
    });
    test.after(() => store.close());
    return store;
  };
  return { stores: [await open(), await open()], databaseUrl };
}

const relayers = ['r0', 'r1', 'r2', 'r3', 'r4', 'r5'];

function relayerAt(index: number): string {
  return relayers[index % relayers.length] ?? assert.fail();
}

/** Runs every task at both writers at once, in waves. Returns the reasons of those that failed. */
async function atBoth(stores: readonly Store[], count: number, task: (store: Store, name: string, index: number) => Promise<void>) {
  const failed: unknown[] = [];
  const waves = 10;
  for (let wave = 0; wave < waves; wave += 1) {
    const tasks = stores.flatMap((store, writer) =>
      Array.from({ length: count / waves / stores.length }, (_, index) => {
        // The second writer goes through the relayers in the other direction.
        const place = writer === 0 ? index : relayers.length * count - index;
        return task(store, `${writer}-${wave}-${index}`, place);
      }),
    );
    for (const result of await Promise.allSettled(tasks)) if (result.status === 'rejected') failed.push(result.reason);
  }
  return failed;
}

describe('two processes that write to one PostgreSQL', () => {
  it('600 sends of six relayers at both: none conflicts, and the places of each relayer have no gap', async (test) => {
    const { stores } = await twoWriters(test);
    const failed = await atBoth(stores, 600, (store, id, index) =>
      store.commit([store.change.insertTransaction(aTransaction({ id, relayerId: relayerAt(index) }))]),
    );
    assert.deepEqual(failed, []);
    let total = 0;
    for (const relayerId of relayers) {
      const page = await stores[0].read.transactionsOf(relayerId, [], { offset: 0, limit: 1_000 });
      assert.equal(page.items.length, page.total);
      assert.equal((await stores[0].read.changePositions(relayerId)).last, page.total);
      total += page.total;
    }
    assert.equal(total, 600);
  });

  it('600 transactions of six relayers end at both: none fails by a deadlock, and the totals are exact', async (test) => {
    const { stores } = await twoWriters(test);
    const failed = await atBoth(stores, 600, async (store, id, index) => {
      const transaction = aTransaction({ id, relayerId: relayerAt(index) });
      await store.commit([store.change.insertTransaction(transaction)]);
      await store.commit([store.change.updateTransaction(next(transaction, { status: 'expired' }))]);
    });
    assert.deepEqual(failed, []);
    let total = 0;
    for (const relayerId of relayers) total += (await stores[0].read.transactionsOf(relayerId, ['expired'], { offset: 0, limit: 1 })).total;
    assert.equal(total, 600);
  });

  it('400 events, ended at one and followed at the other: none waits behind an event that has ended', async (test) => {
    const { stores, databaseUrl } = await twoWriters(test);
    const [sender, deliverer] = stores;
    const keys = Array.from({ length: 20 }, (_, key) => `transaction-${key}`);
    let added = 0;
    let ended = 0;
    const adding = Promise.all(
      keys.map(async (orderKey) => {
        for (let number = 0; number < 20; number += 1) {
          await sender.commit([sender.change.insertEvent(anEvent({ id: `${orderKey}-${number}`, orderKey }))]);
          added += 1;
        }
      }),
    );
    const delivered: string[] = [];
    await waitFor(
      'every event to be delivered',
      async () => {
        const due = await deliverer.read.dueEvents('hook', 1, 1_000);
        await Promise.all(
          due.map(async (event) => {
            await deliverer.commit([deliverer.change.updateEvent({ ...event, status: 'delivered', attempts: 1 }, 0)]);
            delivered.push(event.id);
            ended += 1;
          }),
        );
        return ended === 400 || (added === 400 && due.length === 0) || undefined;
      },
      60_000,
    );
    await adding;
    const stuck = await query(databaseUrl, `select id from events where status = 'pending'`);
    assert.deepEqual(stuck, []);
    for (const key of keys) {
      const order = delivered.filter((id) => id.startsWith(`${key}-`));
      assert.deepEqual(
        order,
        Array.from({ length: 20 }, (_, number) => `${key}-${number}`),
      );
    }
  });

  it('an event that is added while another process ends the one before it does not wait behind it', async (test) => {
    const { stores, databaseUrl } = await twoWriters(test);
    const [store] = stores;
    const { events } = compileStatements(postgres);
    await store.commit([store.change.insertEvent(anEvent({ id: 'first' }))]);
    const other = await connected(test, databaseUrl);
    await other.query('begin');
    await other.query(events.update.sql, events.update.bind({ id: 'first', status: 'delivered', attempts: 1, next_attempt_at_ms: 0 }));
    await other.query(events.releaseNext.sql, events.releaseNext.bind({ id: 'first' }));
    const added = store.commit([store.change.insertEvent(anEvent({ id: 'second' }))]);
    await Promise.race([added, untilWaiting(databaseUrl)]);
    await other.query('commit');
    await added;
    assert.deepEqual(
      (await store.read.dueEvents('hook', 1, 10)).map(({ id }) => id),
      ['second'],
    );
  });

  it('an event that is added while another process deletes its notification does not wait behind a deleted one', async (test) => {
    const { stores, databaseUrl } = await twoWriters(test);
    const [store] = stores;
    const { events } = compileStatements(postgres);
    await store.commit([
      store.change.insertNotification(aNotification({ id: 'hook' })),
      store.change.insertEvent(anEvent({ id: 'first' })),
    ]);
    const other = await connected(test, databaseUrl);
    await other.query(`begin; delete from notifications where id = 'hook'`);
    const added = store.commit([store.change.insertEvent(anEvent({ id: 'second' }))]);
    await Promise.race([added, untilWaiting(databaseUrl)]);
    await other.query(events.deleteUndelivered.sql, events.deleteUndelivered.bind({ notification_id: 'hook' }));
    await other.query('commit');
    await added;
    assert.deepEqual(
      (await store.read.dueEvents('hook', 1, 10)).map(({ id }) => id),
      ['second'],
    );
  });

  it('a batch of several relayers waits for a busy one before it holds up the others', async (test) => {
    const { stores, databaseUrl } = await twoWriters(test);
    const [store] = stores;
    const insert = (id: string, relayerId: string) => store.commit([store.change.insertTransaction(aTransaction({ id, relayerId }))]);
    await Promise.all([insert('1', 'r1'), insert('2', 'r2')]);
    const other = await connected(test, databaseUrl);
    const counter = (relayerId: string) => `select from change_positions where relayer_id = '${relayerId}' for update nowait`;
    await other.query('begin');
    await other.query(counter('r1'));
    const inserted = Promise.all([insert('3', 'r2'), insert('4', 'r1')]);
    await untilWaiting(databaseUrl);
    await other.query(counter('r2'));
    await other.query('commit');
    await inserted;
  });

  it('a relayer whose row another process keeps locked fails alone: the other lists of its batch are written', async (test) => {
    const { stores, databaseUrl } = await twoWriters(test);
    const [store] = stores;
    const insert = (id: string, relayerId: string) => store.commit([store.change.insertTransaction(aTransaction({ id, relayerId }))]);
    await Promise.all(relayers.map((relayerId) => insert(`first of ${relayerId}`, relayerId)));
    const other = await connected(test, databaseUrl);
    await other.query(`begin; select from change_positions where relayer_id in ('r1', 'r3') for update`);
    const ids = ['r0', 'r1', 'r2', 'r3', 'r1', 'r4'].map((relayerId, index) => ({ id: `${index}`, relayerId }));
    // A conflict in the same batch is still one.
    const conflict = insert('first of r5', 'r5').then(() => assert.fail(), String);
    const outcomes = await Promise.allSettled(ids.map(({ id, relayerId }) => insert(id, relayerId)));
    for (const [index, { relayerId }] of ids.entries()) {
      const outcome = outcomes[index];
      if (!['r1', 'r3'].includes(relayerId)) assert.equal(outcome?.status, 'fulfilled', `${relayerId}: ${JSON.stringify(outcome)}`);
      else
        assert.ok(outcome?.status === 'rejected' && outcome.reason instanceof StoreAwayError, `${relayerId}: ${JSON.stringify(outcome)}`);
    }
    assert.match(await conflict, /ConflictError/);
    await other.query('commit');
    const stored = await query(databaseUrl, `select id from transactions where id not like 'first%' order by id`);
    assert.deepEqual(
      stored.map(({ id }) => id),
      ['0', '2', '5'],
    );
    await Promise.all([insert('again', 'r1'), insert('more', 'r0')]);
    // Each change of a relayer has a position of its own.
    const taken = await query(
      databaseUrl,
      'select relayer_id, position from transactions group by relayer_id, position having count(*) > 1',
    );
    assert.deepEqual(taken, []);
  });

  it('a transaction whose row another process keeps locked fails alone, also beside one of the same relayer', async (test) => {
    const { stores, databaseUrl } = await twoWriters(test);
    const [store] = stores;
    const [locked, free] = ['locked', 'free'].map((id) => aTransaction({ id })) as [Transaction, Transaction];
    await store.commit([locked, free].map((transaction) => store.change.insertTransaction(transaction)));
    const other = await connected(test, databaseUrl);
    await other.query(`begin; select from transactions where id = 'locked' for update`);
    const end = (transaction: Transaction) => store.commit([store.change.updateTransaction(next(transaction, { status: 'expired' }))]);
    const [ofLocked, ofFree] = await Promise.allSettled([end(locked), end(free)]);
    assert.ok(ofLocked.status === 'rejected' && ofLocked.reason instanceof StoreAwayError, JSON.stringify(ofLocked));
    assert.equal(ofFree.status, 'fulfilled', JSON.stringify(ofFree));
    await other.query('commit');
    await end(locked);
    assert.equal((await store.read.transactionsOf(locked.relayerId, ['expired'], { offset: 0, limit: 10 })).total, 2);
  });

  it('a batch of which another process locks everything fails, and the next one is written', async (test) => {
    const { stores, databaseUrl } = await twoWriters(test);
    const [store] = stores;
    const insert = (id: string) => store.commit([store.change.insertTransaction(aTransaction({ id }))]);
    await insert('first');
    const other = await connected(test, databaseUrl);
    await other.query('begin; select from change_positions for update');
    await assert.rejects(insert('locked'), StoreAwayError);
    await other.query('commit');
    await insert('next');
    const stored = await query(databaseUrl, 'select id from transactions order by seq');
    assert.deepEqual(
      stored.map(({ id }) => id),
      ['first', 'next'],
    );
  });

  it('of 200 idempotency keys used at both at once, each has one effect, and the other commit fails as a whole', async (test) => {
    const { stores } = await twoWriters(test);
    const outcomes = await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        const claim = (store: Store, writer: number) => {
          const id = `${index}-${writer}`;
          const changes: Change[] = [
            store.change.insertTransaction(aTransaction({ id, relayerId: relayerAt(index) })),
            store.change.putStoredResponse(aStoredResponse({ idempotencyKey: `key-${index}`, response: Buffer.from(id) }), 0),
          ];
          return store.commit(changes).then(
            () => id,
            (error: unknown) => {
              assert.ok(error instanceof ConflictError, String(error));
              assert.equal(error.change, 'putStoredResponse');
              return null;
            },
          );
        };
        return Promise.all(stores.map(claim));
      }),
    );
    for (const [index, [first, second]] of outcomes.entries()) {
      assert.equal(first === null, second !== null, `key ${index}: ${first} ${second}`);
      const stored = await stores[0].read.storedResponse(aStoredResponse({ idempotencyKey: `key-${index}` }), 0);
      assert.equal(Buffer.from(stored?.response ?? []).toString(), first ?? second);
      assert.equal(await stores[0].read.transaction(first === null ? `${index}-0` : `${index}-1`), undefined);
    }
  });

  it('a transaction that the server ends because of a deadlock runs again, and succeeds', async (test) => {
    // The store looks for a deadlock this long after it began to wait, and gives up waiting after 5 s.
    const { stores, databaseUrl } = await twoWriters(test, `set deadlock_timeout = '3s'`);
    const [store] = stores;
    const lanes = ['0xA', '0xB'].map((account) => ({ chain: 'evm:1', account }));
    await store.commit(lanes.map((lane) => store.change.openLane(lane, 0n)));
    const other = await connected(test, databaseUrl);
    const lock = (account: string) => other.query(`update lane_nonces set next_nonce = next_nonce where account = '${account}'`);
    await other.query(`begin; set local deadlock_timeout = '1h'`);
    await lock('0xB');
    // The store holds A and waits for B; then the other waits for A.
    const moved = store.commit(lanes.map((lane) => store.change.moveLane(lane, 0n, 1n)));
    await untilWaiting(databaseUrl);
    await lock('0xA');
    await other.query('commit');
    await moved;
    assert.deepEqual(await Promise.all(lanes.map((lane) => store.read.nextNonce(lane))), [1n, 1n]);
    const [{ deadlocks } = {}] = await query(databaseUrl, 'select deadlocks from pg_stat_database where datname = current_database()');
    assert.notEqual(Number(deadlocks), 0);
  });
});

async function connected(test: TestContext, databaseUrl: string): Promise<pg.Client> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  test.after(() => client.end());
  return client;
}

async function untilWaiting(databaseUrl: string): Promise<void> {
  const waiting = 'select 1 from pg_locks where not granted';
  await waitFor('a writer to wait for another', async () => ((await query(databaseUrl, waiting)).length > 0 ? true : undefined));
}

async function query(databaseUrl: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  const { rows } = await client.query<Record<string, unknown>>(sql);
  await client.end();
  return rows;
}
