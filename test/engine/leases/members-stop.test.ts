import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Member } from '../../../src/core/ports/shared-database.js';
import { systemClock } from '../../../src/core/work/clock.js';
import { systemTimers } from '../../../src/core/work/timers.js';
import { createMembers } from '../../../src/engine/leases/members.js';
import { createSharedDatabase } from '../../../src/storage/postgres/shared-database.js';
import { BoundChange } from '../../../src/storage/sql/bound-change.js';
import { postgres } from '../../../src/storage/sql/dialect.js';
import { compileStatements } from '../../../src/storage/statements/all-statements.js';
import { noFiles } from '../../support/no-files.js';
import { silentLog } from '../../support/stored-samples.js';

it('an instance that is stopped right after it has found that commits are gone records that first', async () => {
  const member: Member = {
    ...{ number: 2, state: 'sharing', files: noFiles, backend: { pid: 1, started: 's' }, isConnected: true, beat: null, isBusy: false },
    shown: { id: '2', version: '', host: 'h', pid: 1, state: 'sharing', sinceMs: 0, seenAtMs: null },
    ...{ timeline: 1, isSynchronous: false },
  };
  const durability = { fsync: true, full_page_writes: true, synchronous_standby_names: false };
  let found: string | null = null;
  const recorded: (string | null)[] = [];
  const members = createMembers({
    shared: createSharedDatabase({
      openObserver: async () => ({
        look: async () => ({
          ...{ members: [member], rewind: null, tables: '1', timeMs: Date.now(), durability, isSynchronous: false },
          oldestSnapshot: { ageMs: 0, transactions: 0 },
        }),
        conditions: async () => ({ migrations: [], secret: null }),
        end: async () => undefined,
        tell: async () => undefined,
        close: async () => undefined,
      }),
      statements: compileStatements(postgres),
      database: {
        own: async (recordOf) => {
          recordOf(null as never);
          found = null;
          return { number: 2, token: 't' };
        },
        isRemoved: () => found !== null,
        rewind: () => found,
        query: async () => [],
        onReturn: () => undefined,
      },
      record: (_state, _connection, rewind) => {
        recorded.push(rewind);
        return { own: { number: 2, token: 't' }, change: new BoundChange('recordInstance', []) };
      },
      clock: systemClock,
      commit: async () => undefined,
    }),
    files: noFiles,
    clock: systemClock,
    timers: systemTimers,
    log: silentLog,
  });
  await members.join();
  await members.start();
  found = 'instance 2 committed batch 7, and the database knows batch 6 as its last one';
  await members.stop();
  assert.deepEqual(recorded, [null, 'instance 2 committed batch 7, and the database knows batch 6 as its last one']);
});
