import assert from 'node:assert/strict';
import { after, before, it, type TestContext } from 'node:test';
import pg from 'pg';
import { type OpenedInstance, openInstance } from '../../../src/app/open-instance.js';
import type { Work } from '../../../src/core/ports/leases.js';
import { StoreAwayError } from '../../../src/core/ports/store/change.js';
import { deferred } from '../../support/deferred.js';
import { noFiles } from '../../support/no-files.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { removalOf } from '../../support/remove-instance.js';
import { silentLog } from '../../support/stored-samples.js';
import { waitFor } from '../../support/wait-for.js';

let server: TestPostgres;
before(async () => {
  server = await startPostgres();
});
after(() => server.stop());

async function join(test: TestContext, databaseUrl: string): Promise<OpenedInstance> {
  const opened = await openInstance(databaseUrl, { log: silentLog, instance: { version: '1.0.0', files: noFiles } });
  test.after(async () => {
    await opened.leases.stop();
    await opened.store.close();
  });
  return opened;
}

function stateOf(seenBy: OpenedInstance, { sharing }: OpenedInstance): string | undefined {
  return seenBy.sharing.instances().find(({ id }) => id === sharing.ownId())?.state;
}

function aLane(): ReadonlyMap<string, Work> {
  return new Map([['evm:1/0x1', { begin: async () => undefined, end: async () => undefined }]]);
}

async function asAdmin(databaseUrl: string, sql: string, values: readonly unknown[] = []): Promise<readonly Record<string, unknown>[]> {
  const admin = new pg.Client(databaseUrl);
  await admin.connect();
  const { rows } = await admin.query(sql, [...values]);
  await admin.end();
  return rows;
}

/** Removes an instance as another one does, but without ending its connection. */
function remove(databaseUrl: string, { sharing }: OpenedInstance): Promise<unknown> {
  return asAdmin(databaseUrl, removalOf('number = $1'), [Number(sharing.ownId())]);
}

it('an instance that is drained while it starts takes no lease when it has started', async (test) => {
  const databaseUrl = await server.newDatabase();
  const [first, starting] = [await join(test, databaseUrl), await join(test, databaseUrl)];
  await first.leases.start();
  assert.equal(await waitFor('it to be seen', async () => stateOf(first, starting)), 'starting');
  assert.equal(await first.sharing.drain(starting.sharing.ownId(), false), true);
  await starting.leases.add('lane', aLane());
  await starting.leases.start();
  assert.equal(stateOf(starting, starting), 'draining');
  assert.equal(starting.leases.held().get('lane'), 0);
});

it('an instance counts the leases that it holds, and those of its units that no instance holds', async (test) => {
  const databaseUrl = await server.newDatabase();
  const [draining, sharing] = [await join(test, databaseUrl), await join(test, databaseUrl)];
  await asAdmin(databaseUrl, `insert into leases (kind, key) values ('lane', 'of a relayer that was removed from the file')`);
  await draining.leases.start();
  await draining.sharing.drain(draining.sharing.ownId(), true);
  for (const one of [draining, sharing]) await one.leases.add('lane', aLane());
  assert.deepEqual([draining.leases.held().get('lane'), draining.sharing.unheld().get('lane')], [0, 1]);
  await sharing.leases.start();
  assert.deepEqual([sharing.leases.held().get('lane'), sharing.sharing.unheld().get('lane')], [1, 0]);
  await waitFor('the other one to see it', async () => (draining.sharing.unheld().get('lane') === 0 ? true : undefined));
  assert.equal(draining.leases.held().get('lane'), 0);
  await sharing.leases.remove('lane', 'evm:1/0x1');
  assert.equal(sharing.sharing.unheld().get('lane'), 0);
});

it('a lane whose work changes while its lease is given up runs at one instance alone', async (test) => {
  const databaseUrl = await server.newDatabase();
  const [draining, sharing] = [await join(test, databaseUrl), await join(test, databaseUrl)];
  const running = new Set<string>();
  const together: string[] = [];
  const mayEnd = deferred();
  const ends: string[] = [];
  const laneOf = (name: string, end: () => Promise<void> = async () => undefined): ReadonlyMap<string, Work> => {
    const begin = async () => {
      running.add(name);
      if (running.size > 1) together.push([...running].join(' beside '));
    };
    const ended = async () => {
      ends.push(name);
      await end();
      running.delete(name);
    };
    return new Map([['evm:1/0x1', { begin, end: ended }]]);
  };
  await draining.leases.add(
    'lane',
    laneOf('the first', () => mayEnd.promise),
  );
  await draining.leases.start();
  await sharing.leases.add('lane', laneOf("the other instance's"));
  await sharing.leases.start();
  assert.deepEqual([...running], ['the first']);
  await sharing.sharing.drain(draining.sharing.ownId(), false);
  await waitFor('its work to end', () => ends.includes('the first') || undefined);
  const changed = draining.leases.add('lane', laneOf('the changed'));
  // Two rounds, of which the second one begins after the change.
  await draining.sharing.drain(draining.sharing.ownId(), false);
  await draining.sharing.drain(draining.sharing.ownId(), false);
  assert.deepEqual([...running], ['the first']);
  mayEnd.resolve();
  await changed;
  await waitFor('the other instance to take over', () => running.has("the other instance's") || undefined);
  assert.deepEqual([together, draining.leases.held().get('lane')], [[], 0]);
});

it('an instance that has just left is not found', async (test) => {
  const databaseUrl = await server.newDatabase();
  const [first, leaving] = [await join(test, databaseUrl), await join(test, databaseUrl)];
  await first.leases.start();
  await waitFor('it to be seen', async () => stateOf(first, leaving));
  // The first one has not looked again yet.
  const removing = remove(databaseUrl, leaving);
  const known = first.sharing.instances().length;
  await removing;
  assert.equal(await first.sharing.drain(leaving.sharing.ownId(), false), false);
  assert.equal(known, 2);
});

it('an instance that another one removed has no store until it joins again', async (test) => {
  const databaseUrl = await server.newDatabase();
  const removed = await join(test, databaseUrl);
  assert.equal(removed.isAway(), false);
  await remove(databaseUrl, removed);
  await assert.rejects(removed.store.checkWorking(), StoreAwayError);
  assert.equal(removed.isAway(), true);
  await removed.leases.start();
  await waitFor('it to join again', async () => (removed.isAway() ? undefined : true));
  await removed.store.checkWorking();
});

it('two instances that are drained at the same time never both stay drained', async (test) => {
  const databaseUrl = await server.newDatabase();
  const [a, b] = [await join(test, databaseUrl), await join(test, databaseUrl)];
  for (const one of [a, b]) await one.leases.start();
  for (let round = 0; round < 4; round += 1) {
    await waitFor('both to share', async () =>
      [a, b].every((by) => [a, b].every((one) => stateOf(by, one) === 'sharing')) ? true : undefined,
    );
    await Promise.allSettled([a.sharing.drain(b.sharing.ownId(), false), b.sharing.drain(a.sharing.ownId(), false)]);
    const rows = await asAdmin(databaseUrl, 'select state from instances where number > 1');
    assert.ok(
      rows.some(({ state }) => state === 'sharing'),
      JSON.stringify(rows),
    );
    assert.equal(await a.sharing.undrain(b.sharing.ownId()), true);
    assert.equal(await b.sharing.undrain(a.sharing.ownId()), true);
  }
});

it('an instance whose drain is undone while it starts shares only when it has started', async (test) => {
  const databaseUrl = await server.newDatabase();
  const [first, starting] = [await join(test, databaseUrl), await join(test, databaseUrl)];
  await first.leases.start();
  await waitFor('it to be seen', async () => stateOf(first, starting));
  assert.equal(await first.sharing.drain(starting.sharing.ownId(), false), true);
  assert.equal(await first.sharing.undrain(starting.sharing.ownId()), true);
  assert.equal(stateOf(first, starting), 'starting');
  await starting.leases.start();
  assert.equal(stateOf(starting, starting), 'sharing');
});
