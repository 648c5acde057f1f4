import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LeaseKind } from '../../../src/core/ports/leases.js';
import { createLeaseShares, type LeaseSharesDeps } from '../../../src/engine/leases/lease-shares.js';
import { deferred } from '../../support/deferred.js';
import { silentLog } from '../../support/stored-samples.js';

const [me, other] = [1, 2];
const given = 'notification';

/** The shares of an instance that gives up its only lease, and still ends the work. Reads and takes wait as the test says. */
async function startGiving() {
  const holders = new Map<LeaseKind, number | null>();
  const added: LeaseKind[] = [];
  const waits = { reading: Promise.resolve(), taking: Promise.resolve() };
  const stored = () => [...holders].map(([kind, holder]) => ({ kind, key: 'a', holder, note: null }));
  const leases: LeaseSharesDeps['leases'] = {
    // Each look finds other leases than the last one, so that all are read.
    parts: async () => new Map([[0, { count: holders.size, digest: String(performance.now()) }]]),
    async ofParts() {
      const rows = stored().map((lease) => ({ ...lease, part: 0 }));
      await waits.reading;
      return rows;
    },
    async take() {
      const free = added.filter((kind) => holders.get(kind) == null);
      await waits.taking;
      for (const kind of free) holders.set(kind, me);
    },
    give: async (_, kind) => void holders.set(kind, null),
    note: async () => assert.fail('there are no notes'),
    remove: async () => assert.fail('nothing is removed'),
  };
  const shares = createLeaseShares({
    leases,
    me: () => me,
    news: { addLeases: () => undefined, send: () => undefined },
    lookAgain: () => undefined,
    clock: { elapsedMs: () => 0 },
    log: silentLog,
  });
  const ending = deferred();
  const holdersAtBegin: (number | null | undefined)[] = [];
  const begin = (kind: LeaseKind) => async () => void holdersAtBegin.push(holders.get(kind));
  const add = (kind: LeaseKind) => {
    added.push(kind);
    void shares.add(kind, new Map([['a', { begin: begin(kind), end: () => ending.promise }]]));
  };
  /** The unit gets other work, which ends at once. */
  const change = () => shares.add(given, new Map([['a', { begin: begin(given), end: async () => undefined }]]));
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
  return { shares, waits, add, change, round, end, holdersAtBegin, holders };
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

  it('that has changed does not begin while the lease is given up, and begins when it is taken again', async () => {
    const { change, round, end, holdersAtBegin, holders } = await startGiving();
    const changed = change();
    await round([me]);
    assert.deepEqual(holdersAtBegin, [me]);
    await end();
    await changed;
    holders.set(given, other);
    await round([me]);
    assert.deepEqual(holdersAtBegin, [me]);
    holders.set(given, null);
    await round([me]);
    assert.deepEqual(holdersAtBegin, [me, me]);
  });

  it('that has changed begins when the work before it has ended', async () => {
    const { shares, add, round, end, holdersAtBegin } = await startGiving();
    await end();
    add('lane');
    await round([me]);
    assert.deepEqual(holdersAtBegin, [me, me, me]);
    const ending = deferred();
    let running = 0;
    const begin = async () => {
      running += 1;
    };
    const work = {
      begin,
      async end() {
        await ending.promise;
        running -= 1;
      },
    };
    await shares.add('lane', new Map([['a', work]]));
    await round([me]);
    assert.equal(running, 1);
    const changed = shares.add('lane', new Map([['a', { begin, end: async () => undefined }]]));
    await round([me]);
    assert.equal(running, 1);
    ending.resolve();
    await changed;
    assert.equal(running, 0);
    await round([me]);
    assert.equal(running, 1);
  });

  it('that has changed twice, or whose lease is given up meanwhile, begins when the work before it has ended', async () => {
    for (const then of ['changes again', 'is given up'] as const) {
      const { shares, add, round, end, holders } = await startGiving();
      await end();
      add('lane');
      await round([me]);
      const ending = deferred();
      const running = new Set<string>();
      const slow = {
        begin: async () => void running.add('slow'),
        async end() {
          await ending.promise;
          running.delete('slow');
        },
      };
      const quick = { begin: async () => void running.add('quick'), end: async () => void running.delete('quick') };
      await shares.add('lane', new Map([['a', slow]]));
      await round([me]);
      const changed = [shares.add('lane', new Map([['a', quick]]))];
      if (then === 'changes again') changed.push(shares.add('lane', new Map([['a', quick]])));
      else await round([other]);
      await new Promise(setImmediate);
      await round(then === 'changes again' ? [me] : [other]);
      assert.deepEqual([[...running], holders.get('lane')], [['slow'], me], then);
      ending.resolve();
      await Promise.all(changed);
      await new Promise(setImmediate);
      assert.deepEqual([[...running], holders.get('lane')], [[], then === 'changes again' ? me : null], then);
    }
  });
});
