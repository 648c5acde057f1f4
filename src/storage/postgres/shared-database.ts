import type { InstanceState } from '../../core/ports/instances.js';
import type { SharedDatabase } from '../../core/ports/shared-database.js';
import type { Store } from '../../core/ports/store/store.js';
import type { Clock } from '../../core/work/clock.js';
import type { Database } from '../database/database.js';
import { BoundChange, type ChangeName, guarded, type Step, step } from '../sql/bound-change.js';
import type { Statements } from '../statements/all-statements.js';
import type { OwnConnection, OwnRecord } from '../statements/instances.js';
import { storedLeases } from '../statements/leases.js';
import { recordingRewind } from '../statements/rewinds.js';
import { newsOf } from './news-channel.js';

/** The parts that make it. */
export interface SharedDatabaseDeps extends Pick<SharedDatabase, 'openObserver'> {
  readonly database: Pick<Database, 'own' | 'isRemoved' | 'rewind' | 'query' | 'onReturn'>;
  readonly statements: Pick<Statements, 'instances' | 'leases' | 'rewinds'>;
  /** Makes the record with which this instance joins in a state: a new one each time. It records `rewind` too, if there is one. */
  readonly record: (state: InstanceState, connection: OwnConnection | null, rewind: string | null) => OwnRecord;
  readonly clock: Clock;
  readonly commit: Store['commit'];
}

/** Makes the rows of instances, their leases and their messages available on an opened database. */
export function createSharedDatabase({ openObserver, database, statements, record, clock, commit }: SharedDatabaseDeps): SharedDatabase {
  const { instances, leases, rewinds } = statements;
  const { query, isRemoved, onReturn } = database;
  const write = (name: ChangeName, steps: readonly Step[]) => commit([new BoundChange(name, steps)]);
  return {
    openObserver,
    join: async (state) => (await database.own((connection) => record(state, connection, database.rewind()))).number,
    isRemoved,
    rewind: database.rewind,
    recordRewind: (evidence) => write('recordRewind', [recordingRewind(rewinds, evidence, clock.nowMs())]),
    onReturn,
    setSynchronous: (number, isSynchronous) =>
      write('setInstanceState', [step(instances.setSynchronous, { number, is_synchronous: Number(isSynchronous) })]),
    setState: (number, state) => write('setInstanceState', [guarded(instances.setState, { number, state })]),
    startSharing: (number, units) =>
      write('startSharing', [
        ...[...units].map(([kind, keys]) => step(leases.dropOthers, { kind, keys: JSON.stringify(keys) })),
        step(instances.startSharing, { number }),
      ]),
    remove: (number, { pid, started }, lost) =>
      write('removeInstance', [
        guarded(lost === null ? instances.removeWhole : instances.removeGone, { number, backend_pid: pid, backend_started: started }),
        step(instances.bury, { number, removed_at_ms: clock.nowMs() }),
        step(leases.giveAll, { holder: number }),
        ...(lost === null ? [] : [recordingRewind(rewinds, lost, clock.nowMs())]),
      ]),
    leases: storedLeases(leases, query, commit),
    newsOf,
  };
}
