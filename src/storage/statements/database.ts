import { type Kysely, sql } from 'kysely';
import type { DatabaseChanges, DatabaseReads } from '../../core/ports/store/database.js';
import { systemClock } from '../../core/work/clock.js';
import { BoundChange, guarded, step } from '../sql/bound-change.js';
import type { Dialect } from '../sql/dialect.js';
import type { DatabaseIdTable, Schema } from '../sql/schema.js';
import { pick, type Query, statement } from '../sql/statement.js';
import { recordingPaid, type rewindStatements } from './rewinds.js';

type DatabaseId = Pick<DatabaseIdTable, 'number' | 'id'>;
type Version = Pick<DatabaseIdTable, 'number' | 'definitions_version'>;

/** Statements on the database itself: the row with its id and the version of its definitions, its clock, and the confirmed time. */
export function databaseIdStatements({ builder: db, timeMs }: Pick<Dialect, 'builder' | 'timeMs'>) {
  return {
    /** Keeps the row that is stored. */
    insertIfMissing: statement<DatabaseId, never>('database_ids_insert_if_missing', (values) =>
      db
        .insertInto('database_ids')
        .values({ ...pick(values, ['number', 'id']), definitions_version: sql.lit(0) })
        .onConflict((conflict) => conflict.column('number').doNothing()),
    ),

    replace: statement<DatabaseId, never>('database_ids_replace', (values) =>
      db.updateTable('database_ids').set({ id: values.id }).where('number', '=', values.number),
    ),

    accept: statement<Pick<DatabaseIdTable, 'number'>, never>('database_ids_accept', (values) =>
      db
        .updateTable('database_ids')
        .set({
          origin: null,
          rewound_at_ms: null,
          rewind_evidence: null,
          accepted_evidence: sql<string>`coalesce(accepted_evidence, '') || coalesce(rewind_evidence, '')`,
        })
        .where('number', '=', values.number),
    ),

    id: statement<Pick<DatabaseIdTable, 'number'>, Pick<DatabaseIdTable, 'id'>>('database_ids_id', (values) =>
      db.selectFrom('database_ids').select('id').where('number', '=', values.number),
    ),

    time: statement<object, { time_ms: number }>('database_ids_time', () => db.selectNoFrom(timeMs.as('time_ms'))),

    /** Affects the row unless the definitions were changed since they had this version. */
    moveDefinitions: statement<Version, never>('database_ids_move_definitions', (values) =>
      db
        .updateTable('database_ids')
        .set((eb) => ({ definitions_version: eb('definitions_version', '+', sql.lit(1)) }))
        .where('number', '=', values.number)
        .where('definitions_version', '=', values.definitions_version),
    ),

    definitionsVersion: statement<Pick<Version, 'number'>, Pick<Version, 'definitions_version'>>(
      'database_ids_definitions_version',
      (values) => db.selectFrom('database_ids').select('definitions_version').where('number', '=', values.number),
    ),

    confirmTime: statement<{ number: number; confirmed_time_ms: number }, never>('instances_confirm_time', (values) =>
      db.updateTable('instances').set({ confirmed_time_ms: values.confirmed_time_ms }).where('number', '=', values.number),
    ),

    confirmedTime: statement<{ number: number }, { confirmed_time_ms: number | null }>('instances_confirmed_time', (values) =>
      db.selectFrom('instances').select('confirmed_time_ms').where('number', '=', values.number),
    ),
  };
}

interface SecretRow {
  readonly number: number;
  readonly sealed: string;
}

/** Statements on the row with the database's secret. */
export function databaseSecretStatements(db: Kysely<Schema>) {
  return {
    insert: statement<SecretRow, never>('database_secret_insert', (values) =>
      db.insertInto('database_secret').values(pick(values, ['number', 'sealed'])),
    ),

    reseal: statement<SecretRow, never>('database_secret_reseal', (values) =>
      db
        .updateTable('database_secret')
        .set(pick(values, ['sealed']))
        .where('number', '=', values.number),
    ),

    sealed: statement<Pick<SecretRow, 'number'>, Pick<SecretRow, 'sealed'>>('database_secret_sealed', (values) =>
      db.selectFrom('database_secret').select('sealed').where('number', '=', values.number),
    ),
  };
}

interface Statements {
  readonly databaseIds: ReturnType<typeof databaseIdStatements>;
  readonly databaseSecret: ReturnType<typeof databaseSecretStatements>;
  readonly rewinds: ReturnType<typeof rewindStatements>;
}

/** Queries of what the database knows about itself. */
export function databaseReads({ databaseIds, databaseSecret }: Statements, query: Query): DatabaseReads {
  return {
    databaseId: async () => {
      const [row] = await query(databaseIds.id, { number: 1 });
      if (row === undefined) throw new Error('the database has no id');
      return row.id;
    },
    timeMs: async () => {
      const [row] = await query(databaseIds.time, {});
      if (row === undefined) throw new Error('the database returned no time');
      return row.time_ms;
    },
    confirmedTimeMs: async () => (await query(databaseIds.confirmedTime, { number: 1 }))[0]?.confirmed_time_ms ?? null,
    databaseSecret: async () => (await query(databaseSecret.sealed, { number: 1 }))[0]?.sealed,
  };
}

/** Changes of what the database knows about itself. */
export function databaseChanges({ databaseIds, databaseSecret, rewinds }: Statements): DatabaseChanges {
  return {
    replaceDatabaseId: (id) => new BoundChange('replaceDatabaseId', [step(databaseIds.replace, { number: 1, id })]),
    acceptDatabase: () => new BoundChange('acceptDatabase', [step(databaseIds.accept, { number: 1 })]),
    recordRewind: (evidence, hash) => new BoundChange('recordRewind', [recordingPaid(rewinds, evidence, hash, systemClock.nowMs())]),
    confirmTime: (timeMs) => new BoundChange('confirmTime', [step(databaseIds.confirmTime, { number: 1, confirmed_time_ms: timeMs })]),
    insertDatabaseSecret: (sealed) => new BoundChange('insertDatabaseSecret', [guarded(databaseSecret.insert, { number: 1, sealed })]),
    resealDatabaseSecret: (sealed) => new BoundChange('resealDatabaseSecret', [guarded(databaseSecret.reseal, { number: 1, sealed })]),
  };
}
