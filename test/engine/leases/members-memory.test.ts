import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Member } from '../../../src/core/ports/shared-database.js';
import { systemClock } from '../../../src/core/work/clock.js';
import { createMembers } from '../../../src/engine/leases/members.js';
import { createSharedDatabase } from '../../../src/storage/postgres/shared-database.js';
import { BoundChange } from '../../../src/storage/sql/bound-change.js';
import { postgres } from '../../../src/storage/sql/dialect.js';
import { compileStatements } from '../../../src/storage/statements/all-statements.js';
import { deferred } from '../../support/deferred.js';
import { noFiles } from '../../support/no-files.js';
import { silentLog } from '../../support/stored-samples.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** The first looks compile code. */
const firstLooks = 5_000;
const looks = 30_000;
const maxBytesPerLook = 20;

it('an instance that looks at the others for days keeps nothing of each look', async () => {
  const shown = { id: '2', version: '', host: 'h', pid: 1, state: 'sharing', sinceMs: 0, seenAtMs: null } as const;
  const backend = { pid: 1, started: 's' };
  const member: Member = {
    number: 2,
    shown,
    state: 'sharing',
    files: noFiles,
    backend,
    isConnected: true,
    beat: null,
    isBusy: false,
    timeline: 1,
    isSynchronous: true,
  };
  const durability = { fsync: true, full_page_writes: true, synchronous_standby_names: true };
  let looked = 0;
  let paused = deferred();
  let goOn = deferred();
  const members = createMembers({
    shared: createSharedDatabase({
      openObserver: async () => ({
        look: async () => ({
          members: [member],
          rewind: null,
          tables: '1',
          timeMs: Date.now(),
          durability,
          isSynchronous: true,
          oldestSnapshot: { ageMs: 0, transactions: 0 },
        }),
        conditions: async () => ({ migrations: [], secret: null }),
        end: async () => undefined,
        tell: async () => undefined,
        close: async () => undefined,
      }),
      statements: compileStatements(postgres),
      database: {
        own: async () => ({ number: 2, token: 't' }),
        isRemoved: () => false,
        rewind: () => null,
        query: async () => [],
        onReturn: () => undefined,
      },
      record: () => ({ own: { number: 2, token: 't' }, change: new BoundChange('recordInstance', []) }),
      clock: systemClock,
      commit: async () => undefined,
    }),
    files: noFiles,
    clock: systemClock,
    timers: {
      after(_, task) {
        looked += 1;
        const go = () => void setImmediate(task);
        if (looked % looks !== firstLooks) go();
        else {
          paused.resolve();
          void goOn.promise.then(go);
        }
        return () => undefined;
      },
    },
    log: silentLog,
  });
  await members.join();
  await members.start();
  await paused.promise;
  const before = heapBytes();
  paused = deferred();
  const first = goOn;
  goOn = deferred();
  first.resolve();
  await paused.promise;
  const perLook = (heapBytes() - before) / looks;
  goOn.resolve();
  await members.stop();
  assert.ok(perLook < maxBytesPerLook, `it keeps ${perLook.toFixed(0)} bytes of each`);
});

function heapBytes(): number {
  collect();
  return process.memoryUsage().heapUsed;
}
