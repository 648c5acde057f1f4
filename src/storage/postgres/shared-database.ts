import type { InstanceState } from '../../core/ports/instances.js';
import type { SharedDatabase } from '../../core/ports/shared-database.js';
import type { Store } from '../../core/ports/store/store.js';
import type { Database } from '../database/database.js';
import { BoundChange, guarded, type Step, step } from '../sql/bound-change.js';
import type { Statements } from '../statements/all-statements.js';
import type { OwnConnection, OwnRecord } from '../statements/instances.js';
import { storedLeases } from '../statements/leases.js';
import { newsOf } from './news-channel.js';

/** The parts that make it. */
export interface SharedDatabaseDeps extends Pick<SharedDatabase, 'openObserver'> {
  readonly database: Pick<Database, 'own' | 'isRemoved' | 'query' | 'onReturn'>;
  readonly statements: Pick<Statements, 'instances' | 'leases'>;
  /** Makes the record with which this instance joins in a state: a new one each time. */
  readonly record: (state: InstanceState, connection: OwnConnection | null) => OwnRecord;
  readonly commit: Store['commit'];
}

/** Makes the rows of instances, their leases and their messages available on an opened database. */
export function createSharedDatabase({ openObserver, database, statements, record, commit }: SharedDatabaseDeps): SharedDatabase {
  const { instances, leases } = statements;
  const { query, isRemoved, onReturn } = database;
  const write = (name: string, steps: readonly Step[]) => commit([new BoundChange(name, steps)]);
  return {
    openObserver,
    join: async (state) => (await database.own((connection) => record(state, connection))).number,
    isRemoved,
    onReturn,
    setState: (number, state) => write('setInstanceState', [guarded(instances.setState, { number, state })]),
    startSharing: (number, units) =>
      write('startSharing', [
        ...[...units].map(([kind, keys]) => step(leases.dropOthers, { kind, keys: JSON.stringify(keys) })),
        step(instances.startSharing, { number }),
      ]),
    remove: (number, { pid, started }) =>
      write('removeInstance', [
        guarded(instances.removeGone, { number, backend_pid: pid, backend_started: started }),
        step(leases.giveAll, { holder: number }),
      ]),
    leases: storedLeases(leases, query, commit),
    newsOf,
  };
}
