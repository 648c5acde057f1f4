import { randomInt, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { expressionBuilder, sql } from 'kysely';
import type { InstanceState } from '../../core/ports/instances.js';
import type { ConfigFiles } from '../../core/records/config-files.js';
import { systemClock } from '../../core/work/clock.js';
import { BoundChange, step } from '../sql/bound-change.js';
import type { Dialect } from '../sql/dialect.js';
import type { InstanceTable, Schema } from '../sql/schema.js';
import { pick, statement } from '../sql/statement.js';
import type { databaseIdStatements } from './database.js';
import type { leaseStatements } from './leases.js';
import { recordingLost, recordingRewind, type rewindStatements } from './rewinds.js';

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
  Pick<
    InstanceTable,
    | 'number'
    | 'checked_at_ms'
    | 'version'
    | 'config_hashes'
    | 'config_revision'
    | 'backend_pid'
    | 'backend_started'
    | 'state'
    | 'timeline'
    | 'is_synchronous'
  >;

/** What an instance that shares the database tells about itself. */
export interface InstanceFacts {
  /** The version of the program. */
  readonly version: string;
  /** Instances with older files than others hand over their work. */
  readonly files: ConfigFiles;
}

/** The server's process for a connection. */
export interface OwnBackend {
  readonly backend_pid: number;
  readonly backend_started: string;
}

/** A connection, and what of its server decides whether commits can get lost. */
export interface OwnConnection extends OwnBackend {
  /** See `InstanceTable`. */
  readonly timeline: number | null;
  readonly is_synchronous: number;
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
export const aloneNumber = 1;
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
  'config_revision',
  'backend_pid',
  'backend_started',
  'state',
  'timeline',
  'is_synchronous',
] as const;

/** Selects the newest timeline that an instance which shares the database has connected to. */
export function newestTimeline(db: Dialect['builder']) {
  return db
    .selectFrom('instances')
    .select(({ fn }) => fn.max('timeline').as('timeline'))
    .where('number', '>', sql.lit(1));
}

/** Statements on the processes that use the database. */
export function instanceStatements({ builder: db, hasSeveralWriters }: Pick<Dialect, 'builder' | 'hasSeveralWriters'>) {
  const removed = ({ number, backend_pid, backend_started }: { number: number } & OwnBackend) =>
    db
      .deleteFrom('instances')
      .where('number', '=', number)
      .where('backend_pid', '=', backend_pid)
      .where('backend_started', '=', backend_started);
  /** True if the database has this batch of a process; null: it has written none. */
  const hasBatch = (number: number, batch: number | null) => {
    const { eb, or, exists } = expressionBuilder<Schema, 'instances'>();
    const own = db.selectFrom('batches').select('batch').where('batches.number', '=', number).where('batches.batch', '=', batch);
    return or([eb(sql<number | null>`cast(${batch} as bigint)`, 'is', null), exists(own)]);
  };
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

    /**
     * Affects a row as long as the process may commit on this connection and the database has its last batch, and records the batch that
     * begins. A removal of the process waits for the batch. Updates no row: beside an open snapshot, such as a dump, each batch would walk
     * the versions that all earlier ones left.
     */
    beginBatch: statement<OwnRow & OwnBackend & { batch: number; before: number | null }, never>(
      'instances_begin_batch',
      ({ number, token, backend_pid, backend_started, batch, before }) => {
        const own = db
          .selectFrom('instances')
          .select(['number', sql<number>`cast(${batch} as bigint)`.as('batch')])
          .where('number', '=', number)
          .where('token', '=', token)
          .where('backend_pid', '=', backend_pid)
          .where('backend_started', '=', backend_started)
          .where(hasBatch(number, before));
        return db
          .insertInto('batches')
          .columns(['number', 'batch'])
          .expression(hasSeveralWriters ? own.forShare(['instances']) : own);
      },
    ),

    /** Finds the last batch of a process that was not removed; null: it has written none. */
    lastBatch: statement<OwnRow, { batch: number | null }>('instances_last_batch', ({ number, token }) =>
      db
        .selectFrom('instances')
        .select((eb) =>
          eb
            .selectFrom('batches')
            .select((max) => max.fn.max('batch').as('batch'))
            .where('batches.number', '=', number)
            .as('batch'),
        )
        .where('number', '=', number)
        .where('token', '=', token),
    ),

    /** Deletes the batches of a process before one that it knows to be written, from another one on: those before it are gone. */
    forgetBatches: statement<{ number: number; from: number; before: number }, never>('batches_forget', ({ number, from, before }) =>
      db.deleteFrom('batches').where('number', '=', number).where('batch', '>=', from).where('batch', '<', before),
    ),

    /** Deletes the batches of processes that are gone, except the last one of each that was removed: it may return. */
    forgetBatchesOfGone: statement<object, never>('batches_forget_gone', () =>
      db
        .deleteFrom('batches')
        .where('number', 'not in', db.selectFrom('instances').select('number'))
        .where(({ or, eb, exists, selectFrom }) =>
          or([
            eb('number', 'not in', db.selectFrom('removed_instances').select('removed_instances.number')),
            exists(
              selectFrom('batches as later')
                .select('later.batch')
                .whereRef('later.number', '=', 'batches.number')
                .whereRef('later.batch', '>', 'batches.batch'),
            ),
          ]),
        ),
    ),

    /** Finds the last batch of a process that was removed; null: none is known. */
    lastBatchOfRemoved: statement<{ number: number }, { batch: number | null }>('batches_last_of_removed', ({ number }) =>
      db
        .selectFrom('removed_instances')
        .select((eb) =>
          eb
            .selectFrom('batches')
            .select((max) => max.fn.max('batch').as('batch'))
            .whereRef('batches.number', '=', 'removed_instances.number')
            .as('batch'),
        )
        .where('number', '=', number),
    ),

    /**
     * Moves the right to commit to a new connection, as long as the process has it and the database has its last batch: what the earlier
     * one still has to read commits nothing. Writes, so that it waits until earlier writes are durable.
     */
    returnTo: statement<OwnRow & OwnConnection & { checked_at_ms: number; before: number | null }, never>(
      'instances_return_to',
      ({ number, token, checked_at_ms, backend_pid, backend_started, timeline, is_synchronous, before }) =>
        db
          .updateTable('instances')
          .set({ checked_at_ms, backend_pid, backend_started, timeline, is_synchronous })
          .where('number', '=', number)
          .where('token', '=', token)
          .where(hasBatch(number, before)),
    ),

    /** Notes whether the commits of an instance wait for a standby. Once this one has waited, the standby has all before it too. */
    setSynchronous: statement<{ number: number; is_synchronous: number }, never>(
      'instances_set_synchronous',
      ({ number, is_synchronous }) => db.updateTable('instances').set({ is_synchronous }).where('number', '=', number),
    ),

    /** Removes the token of the process that used the database alone. Does nothing if another one has recorded itself. */
    release: statement<OwnRow, never>('instances_release', ({ number, token }) =>
      db.updateTable('instances').set({ token: '' }).where('number', '=', number).where('token', '=', token),
    ),

    /** Removes an instance that shares the database, unless it has another connection by now. */
    removeGone: statement<{ number: number } & OwnBackend, never>('instances_remove_gone', (values) => removed(values)),

    /**
     * The same, unless it may have lost commits by a failover. This instance may have learned of that only after it had decided, when its
     * own connection moved to the new primary.
     */
    removeWhole: statement<{ number: number } & OwnBackend, never>('instances_remove_whole', (values) =>
      removed(values).where(({ eb, or }) =>
        or([eb('timeline', 'is', null), eb('is_synchronous', '=', 1), eb('timeline', '>=', newestTimeline(db))]),
      ),
    ),

    /** Remembers that an instance is removed. */
    bury: statement<{ number: number; removed_at_ms: number }, never>('removed_instances_bury', (values) =>
      db
        .insertInto('removed_instances')
        .values(pick(values, ['number', 'removed_at_ms']))
        .onConflict((conflict) => conflict.column('number').doUpdateSet((eb) => ({ removed_at_ms: eb.ref('excluded.removed_at_ms') }))),
    ),

    /** Remembers that all instances which share the database are removed. */
    burySharing: statement<{ number: number; removed_at_ms: number }, never>('removed_instances_bury_sharing', (values) =>
      db
        .insertInto('removed_instances')
        .columns(['number', 'removed_at_ms'])
        .expression((eb) =>
          eb
            .selectFrom('instances')
            .select(['number', sql<number>`cast(${values.removed_at_ms} as bigint)`.as('removed_at_ms')])
            .where('number', '>', values.number),
        )
        .onConflict((conflict) => conflict.column('number').doNothing()),
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
    config_hashes: instance === undefined ? null : JSON.stringify(Object.fromEntries(instance.files.hashes)),
    config_revision: instance?.files.revision ?? null,
    backend_pid: connection?.backend_pid ?? null,
    backend_started: connection?.backend_started ?? null,
    state: instance?.state ?? null,
    timeline: connection?.timeline ?? null,
    is_synchronous: connection?.is_synchronous ?? null,
  };
}

interface Statements {
  readonly instances: ReturnType<typeof instanceStatements>;
  readonly databaseIds: Pick<ReturnType<typeof databaseIdStatements>, 'insertIfMissing'>;
  readonly leases: Pick<ReturnType<typeof leaseStatements>, 'freeOrphans'>;
  readonly rewinds: ReturnType<typeof rewindStatements>;
}

/** What an instance records of itself, and of the database. */
interface JoiningFacts extends InstanceFacts {
  readonly state: InstanceState;
  /** Where the tables are; null: not known. */
  readonly origin: string | null;
  /** What shows that the database lacks commits of this instance; null: nothing. */
  readonly rewind: string | null;
  /** The record of an earlier attempt of this process to start, which is removed; null: there is none. */
  readonly earlier: OwnRow | null;
}

/** Returns a new record of this process as an instance that joins the others. */
export function recordSharing(
  { instances, databaseIds, leases, rewinds }: Statements,
  connection: OwnConnection | null,
  facts: JoiningFacts,
): OwnRecord {
  const own: OwnRow = { number: randomInt(aloneNumber + 1, highestNumber), token: randomUUID() };
  const steps = [
    // A command that used the database alone and has lost its connection must not return.
    step(instances.insertReleased, rowOf({ number: aloneNumber, token: '' }, null)),
    step(instances.join, rowOf(own, connection, facts)),
    ...(facts.earlier === null ? [] : [step(instances.leave, facts.earlier)]),
    step(instances.forgetBatchesOfGone, {}),
    step(leases.freeOrphans, {}),
    step(databaseIds.insertIfMissing, { number: 1, id: randomUUID() }),
    step(rewinds.setOriginIfMissing, { origin: facts.origin }),
    ...(facts.rewind === null ? [] : [recordingRewind(rewinds, facts.rewind, systemClock.nowMs())]),
  ];
  return { own, change: new BoundChange('recordInstance', steps) };
}

/** Returns a new record of this process as the only one, also for the error of a process that finds the lock taken. */
export function recordAlone({ instances, databaseIds, rewinds }: Omit<Statements, 'leases'>, connection: OwnConnection | null): OwnRecord {
  const own: OwnRow = { number: aloneNumber, token: randomUUID() };
  const nowMs = systemClock.nowMs();
  const steps = [
    step(instances.forgetBatches, { number: aloneNumber, from: 0, before: Number.MAX_SAFE_INTEGER }),
    step(instances.record, rowOf(own, connection)),
    step(databaseIds.insertIfMissing, { number: 1, id: randomUUID() }),
    ...(connection === null || connection.timeline === null ? [] : [recordingLost(rewinds, connection.timeline, nowMs)]),
    // Instances that share the database would hold its lock. One that has lost its connection must not return.
    step(instances.burySharing, { number: aloneNumber, removed_at_ms: nowMs }),
    step(instances.removeSharing, { number: aloneNumber }),
  ];
  return { own, change: new BoundChange('recordOwner', steps) };
}
