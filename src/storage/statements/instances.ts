import { randomInt, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { type Kysely, sql } from 'kysely';
import type { InstanceState } from '../../core/ports/instances.js';
import { systemClock } from '../../core/work/clock.js';
import { BoundChange, step } from '../sql/bound-change.js';
import type { InstanceTable, Schema } from '../sql/schema.js';
import { pick, statement } from '../sql/statement.js';
import type { databaseIdStatements } from './database.js';
import type { leaseStatements } from './leases.js';

/** A process that uses the database alone. */
export interface Instance {
  readonly host: string;
  readonly pid: number;
  /** Since when, in milliseconds since the epoch. */
  readonly since_ms: number;
  /** Random; empty if the process has released the database. */
  readonly token: string;
}

/** An instance that shares the database. */
type MemberRow = Instance &
  Pick<InstanceTable, 'number' | 'checked_at_ms' | 'version' | 'config_hashes' | 'backend_pid' | 'backend_started' | 'state'>;

/** What an instance that shares the database tells about itself. */
export interface InstanceFacts {
  /** The version of the program. */
  readonly version: string;
  /** A keyed hash of each configuration file, by its name. All instances must have the same. */
  readonly configHashes: ReadonlyMap<string, string>;
}

/** The server's process for a connection. */
export interface OwnConnection {
  readonly backend_pid: number;
  readonly backend_started: string;
}

/** What identifies a process. */
export interface OwnRow {
  readonly number: number;
  readonly token: string;
}

/** The record of a process, and the change that stores it. */
export interface OwnRecord {
  readonly own: OwnRow;
  readonly change: BoundChange;
}

/** The row of a process that uses the database alone. */
const aloneNumber = 1;
const highestNumber = 2 ** 31;

const ownColumns = [
  'number',
  'host',
  'pid',
  'token',
  'since_ms',
  'checked_at_ms',
  'version',
  'config_hashes',
  'backend_pid',
  'backend_started',
  'state',
] as const;

/** Statements on the processes that use the database. */
export function instanceStatements(db: Kysely<Schema>) {
  return {
    /** Records the process that uses the database alone. */
    record: statement<MemberRow, never>('instances_record', (values) =>
      db
        .insertInto('instances')
        .values(pick(values, ownColumns))
        .onConflict((conflict) =>
          conflict.column('number').doUpdateSet((eb) => ({
            host: eb.ref('excluded.host'),
            pid: eb.ref('excluded.pid'),
            token: eb.ref('excluded.token'),
            since_ms: eb.ref('excluded.since_ms'),
            checked_at_ms: eb.ref('excluded.checked_at_ms'),
            backend_pid: eb.ref('excluded.backend_pid'),
            backend_started: eb.ref('excluded.backend_started'),
          })),
        ),
    ),

    /** Adds an instance that shares the database. */
    join: statement<MemberRow, never>('instances_join', (values) => db.insertInto('instances').values(pick(values, ownColumns))),

    /** Adds the row of a process that uses the database alone, as one that was released. */
    insertReleased: statement<MemberRow, never>('instances_insert_released', (values) =>
      db
        .insertInto('instances')
        .values(pick(values, ownColumns))
        .onConflict((conflict) => conflict.column('number').doUpdateSet({ token: sql.lit('') })),
    ),

    /** Removes all instances that share the database, and what they hold is free. */
    removeSharing: statement<{ number: number }, never>('instances_remove_sharing', (values) =>
      db.deleteFrom('instances').where('number', '>', values.number),
    ),

    touch: statement<{ number: number; checked_at_ms: number }, never>('instances_touch', (values) =>
      db.updateTable('instances').set({ checked_at_ms: values.checked_at_ms }).where('number', '=', values.number),
    ),

    /** Finds the row as long as the process may commit. */
    fence: statement<OwnRow, { number: number }>('instances_fence', ({ number, token }) =>
      db.selectFrom('instances').select('number').where('number', '=', number).where('token', '=', token),
    ),

    /** Affects the row as long as the process may commit on this connection, and names the batch that begins. */
    beginBatch: statement<OwnRow & OwnConnection & { batch: string }, never>(
      'instances_begin_batch',
      ({ number, token, backend_pid, backend_started, batch }) =>
        db
          .updateTable('instances')
          .set({ batch })
          .where('number', '=', number)
          .where('token', '=', token)
          .where('backend_pid', '=', backend_pid)
          .where('backend_started', '=', backend_started),
    ),

    /**
     * Finds the last batch, as long as the process may commit, and moves that right to a new connection: what the earlier one still has to
     * read commits nothing. Writes, so that it waits until earlier writes are durable.
     */
    returnTo: statement<OwnRow & OwnConnection & { checked_at_ms: number }, { batch: string | null }>(
      'instances_return_to',
      ({ number, token, checked_at_ms, backend_pid, backend_started }) =>
        db
          .updateTable('instances')
          .set({ checked_at_ms, backend_pid, backend_started })
          .where('number', '=', number)
          .where('token', '=', token)
          .returning('batch'),
    ),

    /** Removes the token of the process that used the database alone. Does nothing if another one has recorded itself. */
    release: statement<OwnRow, never>('instances_release', ({ number, token }) =>
      db.updateTable('instances').set({ token: '' }).where('number', '=', number).where('token', '=', token),
    ),

    /** Removes an instance that shares the database, unless it has another connection by now. */
    removeGone: statement<{ number: number } & OwnConnection, never>('instances_remove_gone', ({ number, backend_pid, backend_started }) =>
      db
        .deleteFrom('instances')
        .where('number', '=', number)
        .where('backend_pid', '=', backend_pid)
        .where('backend_started', '=', backend_started),
    ),

    /** Removes an instance that leaves. */
    leave: statement<OwnRow, never>('instances_leave', ({ number, token }) =>
      db.deleteFrom('instances').where('number', '=', number).where('token', '=', token),
    ),

    /** Lets an instance take its share, unless it was drained while it started. */
    startSharing: statement<{ number: number }, never>('instances_start_sharing', ({ number }) =>
      db.updateTable('instances').set({ state: 'sharing' }).where('number', '=', number).where('state', '=', sql.lit('starting')),
    ),

    setState: statement<{ number: number; state: InstanceState }, never>('instances_set_state', ({ number, state }) =>
      db.updateTable('instances').set({ state }).where('number', '=', number),
    ),

    /** Finds the process that uses the database alone, or else one that shares it. */
    anyUser: statement<object, Instance>('instances_any_user', () =>
      db
        .selectFrom('instances')
        .select(['host', 'pid', 'since_ms', 'token'])
        .where('token', '<>', sql.lit(''))
        .orderBy('number')
        .limit(sql.lit(1)),
    ),

    holder: statement<{ number: number }, Instance>('instances_holder', (values) =>
      db.selectFrom('instances').select(['host', 'pid', 'since_ms', 'token']).where('number', '=', values.number),
    ),
  };
}

/** A row about this process. */
function rowOf(own: OwnRow, connection: OwnConnection | null, instance?: InstanceFacts & { readonly state: InstanceState }): MemberRow {
  const nowMs = systemClock.nowMs();
  return {
    ...own,
    host: hostname(),
    pid: process.pid,
    since_ms: nowMs,
    checked_at_ms: nowMs,
    version: instance?.version ?? null,
    config_hashes: instance === undefined ? null : JSON.stringify(Object.fromEntries(instance.configHashes)),
    backend_pid: connection?.backend_pid ?? null,
    backend_started: connection?.backend_started ?? null,
    state: instance?.state ?? null,
  };
}

interface Statements {
  readonly instances: ReturnType<typeof instanceStatements>;
  readonly databaseIds: Pick<ReturnType<typeof databaseIdStatements>, 'insertIfMissing'>;
  readonly leases: Pick<ReturnType<typeof leaseStatements>, 'freeOrphans'>;
}

/** Returns a new record of this process as an instance that joins the others. */
export function recordSharing(
  { instances, databaseIds, leases }: Statements,
  connection: OwnConnection | null,
  facts: InstanceFacts & { readonly state: InstanceState },
): OwnRecord {
  const own: OwnRow = { number: randomInt(aloneNumber + 1, highestNumber), token: randomUUID() };
  const steps = [
    // A command that used the database alone and has lost its connection must not return.
    step(instances.insertReleased, rowOf({ number: aloneNumber, token: '' }, null)),
    step(instances.join, rowOf(own, connection, facts)),
    step(leases.freeOrphans, {}),
    step(databaseIds.insertIfMissing, { number: 1, id: randomUUID() }),
  ];
  return { own, change: new BoundChange('recordInstance', steps) };
}

/** Returns a new record of this process as the only one, also for the error of a process that finds the lock taken. */
export function recordAlone({ instances, databaseIds }: Omit<Statements, 'leases'>, connection: OwnConnection | null): OwnRecord {
  const own: OwnRow = { number: aloneNumber, token: randomUUID() };
  const steps = [
    step(instances.record, rowOf(own, connection)),
    // Instances that share the database would hold its lock. One that has lost its connection must not return.
    step(instances.removeSharing, { number: aloneNumber }),
    step(databaseIds.insertIfMissing, { number: 1, id: randomUUID() }),
  ];
  return { own, change: new BoundChange('recordOwner', steps) };
}
