import assert from 'node:assert/strict';
import { it } from 'node:test';
import { systemClock } from '../../src/core/work/clock.js';
import { createOwnRecord, type RecordConnection } from '../../src/storage/postgres/own-record.js';
import { postgres } from '../../src/storage/sql/dialect.js';
import type { SqlValue } from '../../src/storage/sql/statement.js';
import { instanceStatements } from '../../src/storage/statements/instances.js';
import { silentLog } from '../support/stored-samples.js';

const statements = instanceStatements(postgres);

/** A server that knows the record and its last batch, on a timeline of a cluster. */
function connectionTo(timeline: number | null, cluster: string | null, asked: string[]): RecordConnection {
  return {
    backend: { pid: 1, started: '1' },
    history: { timeline, cluster, isSynchronous: false },
    writer: {
      async query<R extends object>(sql: string, _: SqlValue[]) {
        asked.push(sql);
        const rows = sql === statements.lastBatch.sql ? [{ batch: 3 }] : [];
        return { rows: rows as unknown as R[], rowCount: 1 };
      },
    },
  };
}

for (const [name, then, isRewound] of [
  ['a later timeline', { timeline: 3, cluster: 'one' }, false],
  ['the same timeline', { timeline: 2, cluster: 'one' }, false],
  ['an earlier timeline', { timeline: 1, cluster: 'one' }, true],
  ['another cluster, as after an upgrade', { timeline: 1, cluster: 'two' }, false],
  ['a server that does not say', { timeline: null, cluster: null }, false],
] as const)
  it(`a process that returns to ${name} ${isRewound ? 'finds that commits may be gone' : 'goes on'}`, async () => {
    const record = createOwnRecord({ isShared: true, statements, clock: systemClock, log: silentLog });
    record.taken({ number: 7, token: 'token' });
    record.answered(record.fence(connectionTo(2, 'one', [])).batch);
    const asked: string[] = [];
    const batch = await record.moveTo(connectionTo(then.timeline, then.cluster, asked));
    assert.equal(batch, isRewound ? null : 3);
    assert.equal(record.rewind() !== null, isRewound);
    // Nothing is written to a server that lacks commits.
    if (isRewound) assert.deepEqual(asked, []);
  });

it('a process that went to a later timeline without a commit of its own finds it when it returns to the earlier one', async () => {
  const record = createOwnRecord({ isShared: true, statements, clock: systemClock, log: silentLog });
  record.taken({ number: 7, token: 'token' });
  for (const timeline of [1, 2]) assert.equal(await record.moveTo(connectionTo(timeline, 'one', [])), 3);
  assert.equal(await record.moveTo(connectionTo(1, 'one', [])), null);
  assert.match(record.rewind() ?? '', /the server is on timeline 1, and this process has used timeline 2/);
});
