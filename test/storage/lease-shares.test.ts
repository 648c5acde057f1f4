import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LeaseKind } from '../../src/core/ports/leases.js';
import { createLeaseShares, type LeaseSharesDeps } from '../../src/storage/postgres/lease-shares.js';
import { postgres } from '../../src/storage/sql/dialect.js';
import { compileStatements } from '../../src/storage/statements/all-statements.js';
import { deferred } from '../support/deferred.js';
import { silentLog } from '../support/stored-samples.js';

const [me, other] = [1, 2];
const given = 'notification';

/** The shares of an instance that gives up its only lease, and still ends the work. Reads and takes wait as the test says. */
async function startGiving() {
  const holders = new Map<LeaseKind, number | null>();
  const added: LeaseKind[] = [];
  const waits = { reading: Promise.resolve(), taking: Promise.resolve() };
  const { leases } = compileStatements(postgres);
  const query: LeaseSharesDeps['query'] = async <R>(statement: { readonly name: string }) => {
    const rows = [...holders].map(([kind, holder]) => ({ kind, key: 'a', holder, note: null }));
    if (statement.name === leases.digest.name) return [{ count: String(rows.length), mix: JSON.stringify(rows) }] as R[];
    assert.equal(statement.name, leases.all.name);
    await waits.reading;
    return rows as R[];
  };
  const shares = createLeaseShares({
    leases,
    query,
    async commit(changes) {
      for (const { name } of changes) {
        if (name === 'giveLease') holders.set(given, null);
        else {
          assert.equal(name, 'takeLeases');
          const free = added.filter((kind) => holders.get(kind) == null);
          await waits.taking;
          for (const kind of free) holders.set(kind, me);
        }
      }
    },
    me: () => me,
    news: { addLeases: () => undefined, send: () => undefined },
    lookAgain: () => undefined,
    clock: { elapsedMs: () => 0 },
    log: silentLog,
  });
  const ending = deferred();
  const holdersAtBegin: (number | null | undefined)[] = [];
  const add = (kind: LeaseKind) => {
    added.push(kind);
    const begin = async () => void holdersAtBegin.push(holders.get(kind));
    shares.add(kind, new Map([['a', { begin, end: () => ending.promise }]]));
  };
  const round = (members: readonly number[]) => {
    shares.outdate();
    return shares.round(members);
  };
  add(given);
  await round([me]);
  // It is no member any more.
  await round([other]);
  async function end(): Promise<void> {
    ending.resolve();
    await new Promise(setImmediate);
    assert.equal(holders.get(given), null);
  }
  return { waits, add, round, end, holdersAtBegin };
}

describe('the work of a lease', () => {
  it('does not begin again without its lease if that was given up while the leases were read', async () => {
    const { waits, round, end, holdersAtBegin } = await startGiving();
    const reading = deferred();
    waits.reading = reading.promise;
    const rounded = round([me]);
    await end();
    reading.resolve();
    await rounded;
    assert.deepEqual(holdersAtBegin, [me, me]);
  });

  it('does not begin again without its lease if that was given up while other leases were taken', async () => {
    const { waits, add, round, end, holdersAtBegin } = await startGiving();
    const taking = deferred();
    waits.taking = taking.promise;
    add('lane');
    const rounded = round([me]);
    await new Promise(setImmediate);
    await end();
    taking.resolve();
    await rounded;
    assert.deepEqual(holdersAtBegin, [me, me, me]);
  });
});
