import type { Clock } from '../core/ports/clock.js';
import type { Change, Store } from '../core/ports/store.js';
import { type Meter, noMeter } from '../core/ports/telemetry.js';
import { BoundChange, guarded } from './bound-change.js';
import { createChanges } from './changes.js';
import { createCommitQueue } from './commit-queue.js';
import type { Database } from './database.js';
import { createReads } from './reads.js';
import type { Statements } from './statements/all-statements.js';
import { withStoreAway } from './store-away.js';

function boundChanges(changes: readonly Change[]): readonly BoundChange[] {
  return changes.map((change) => {
    if (!(change instanceof BoundChange)) throw new TypeError(`the change ${change.name} was not made by a store`);
    return change;
  });
}

/** Makes a store on an opened database. */
export function createStore(database: Database, statements: Statements, clock: Clock, meter: Meter = noMeter): Store {
  const { query, runBatch } = withStoreAway(database);
  const queue = createCommitQueue(runBatch, meter);
  let closing: Promise<void> | undefined;

  return {
    change: createChanges(statements),
    read: createReads(statements, query),
    commit: async (changes) => queue.commit(boundChanges(changes)),
    // Only a real write shows a full disk, a read-only file system or a lost lock.
    checkWritable: () => {
      const touch = guarded(statements.instances.touch, { number: 1, checked_at_ms: clock.nowMs() });
      return queue.commit([new BoundChange('checkWritable', [touch])]);
    },
    close: () => {
      closing ??= queue.close().then(database.close);
      return closing;
    },
  };
}
