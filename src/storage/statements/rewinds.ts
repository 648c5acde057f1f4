import { randomUUID } from 'node:crypto';
import { type Kysely, type SqlBool, sql } from 'kysely';
import { guarded, type Step, step } from '../sql/bound-change.js';
import type { DatabaseIdTable, Schema } from '../sql/schema.js';
import { pick, type Query, statement } from '../sql/statement.js';

type Rewound = Pick<DatabaseIdTable, 'number' | 'id' | 'rewound_at_ms' | 'rewind_evidence'>;

/** Evidence that no longer fits is found again after the operator has accepted the rest. */
const maxEvidenceLength = 16_384;

const rewoundColumns = ['id', 'rewound_at_ms', 'rewind_evidence'] as const;

/** Statements on what shows that the database lacks commits that it had answered. */
export function rewindStatements(db: Kysely<Schema>) {
  return {
    /** Records it, unless that is recorded already. The new id ends resume tokens of before. */
    record: statement<Rewound, never>('rewinds_record', (values) =>
      db
        .updateTable('database_ids')
        .set(pick(values, rewoundColumns))
        .where('number', '=', values.number)
        .where('rewound_at_ms', 'is', null),
    ),

    /** The same for evidence with this hash, unless an operator has accepted it. Is added to evidence that is recorded already. */
    recordPaid: statement<Rewound & { hash: string }, never>('rewinds_record_paid', (values) => {
      const names = (column: string) => sql<SqlBool>`${sql.ref(column)} like '%' || cast(${values.hash} as text) || '%'`;
      return db
        .updateTable('database_ids')
        .set({
          id: sql<string>`case when rewound_at_ms is null then ${values.id} else id end`,
          rewound_at_ms: sql<number>`coalesce(rewound_at_ms, ${values.rewound_at_ms})`,
          rewind_evidence: sql<string>`case when rewound_at_ms is null then ${values.rewind_evidence}
            when ${names('rewind_evidence')} or length(rewind_evidence) > ${sql.lit(maxEvidenceLength)} then rewind_evidence
            else rewind_evidence || '; ' || ${values.rewind_evidence} end`,
        })
        .where('number', '=', values.number)
        .where(({ or, eb, not }) => or([eb('accepted_evidence', 'is', null), not(names('accepted_evidence'))]));
    }),

    /**
     * The same, if an instance that shares the database was connected before the last failover of the server, so that its last commits may
     * be lost.
     */
    recordIfLost: statement<Rewound & { timeline: number }, never>('rewinds_record_if_lost', (values) =>
      db
        .updateTable('database_ids')
        .set(pick(values, rewoundColumns))
        .where('number', '=', values.number)
        .where('rewound_at_ms', 'is', null)
        .where((eb) =>
          eb.exists(
            eb
              .selectFrom('instances')
              .select('instances.number')
              .where('instances.number', '>', sql.lit(1))
              .where('timeline', '<', values.timeline)
              .where('is_synchronous', '=', sql.lit(0)),
          ),
        ),
    ),

    /** What shows that the database lacks commits, if anything does. */
    found: statement<object, { rewind_evidence: string | null }>('rewinds_found', () =>
      db.selectFrom('database_ids').select('rewind_evidence').where('number', '=', sql.lit(1)).where('rewound_at_ms', 'is not', null),
    ),

    /** Where the tables were created. */
    origin: statement<object, Pick<DatabaseIdTable, 'origin'>>('rewinds_origin', () =>
      db.selectFrom('database_ids').select('origin').where('number', '=', sql.lit(1)),
    ),

    /** Where the tables are now, on PostgreSQL: the server, the database and the table, which no copy by rows shares. */
    currentOrigin: statement<object, { origin: string }>('rewinds_current_origin', () =>
      db.selectNoFrom(
        sql<string>`(select system_identifier from pg_control_system()) || '/'
          || (select oid from pg_database where datname = current_database()) || '/' || to_regclass('transactions')::oid`.as('origin'),
      ),
    ),

    setOriginIfMissing: statement<Pick<DatabaseIdTable, 'origin'>, never>('rewinds_set_origin_if_missing', (values) =>
      db.updateTable('database_ids').set({ origin: values.origin }).where('number', '=', sql.lit(1)).where('origin', 'is', null),
    ),
  };
}

type Statements = ReturnType<typeof rewindStatements>;

function rewoundValues(evidence: string, nowMs: number): Rewound {
  return { number: 1, id: randomUUID(), rewound_at_ms: nowMs, rewind_evidence: evidence };
}

/** The step that records that the database lacks commits that it had answered. */
export function recordingRewind({ record }: Pick<Statements, 'record'>, evidence: string, nowMs: number): Step {
  return step(record, rewoundValues(evidence, nowMs));
}

/** The step that records it because of a transaction on a chain. Fails if it was accepted. */
export function recordingPaid({ recordPaid }: Pick<Statements, 'recordPaid'>, evidence: string, hash: string, nowMs: number): Step {
  return guarded(recordPaid, { ...rewoundValues(evidence, nowMs), hash });
}

/** The step that records it if an instance that is about to be removed may have lost commits by the failover to this timeline. */
export function recordingLost({ recordIfLost }: Pick<Statements, 'recordIfLost'>, timeline: number, nowMs: number): Step {
  const evidence = `an instance did not return after the failover to timeline ${timeline}; its commits did not wait for a standby, so the last ones may be lost`;
  return step(recordIfLost, { ...rewoundValues(evidence, nowMs), timeline });
}

/** Returns where the tables are; null: the server does not say. */
export async function readOrigin(query: Query, { currentOrigin }: Pick<Statements, 'currentOrigin'>): Promise<string | null> {
  const rows = await query(currentOrigin, {}).catch(() => []);
  return rows[0]?.origin ?? null;
}

/** Throws if the tables are a copy by rows, which may lack commits that the service has answered. */
export async function requireSameOrigin(query: Query, { origin }: Pick<Statements, 'origin'>, current: string | null): Promise<void> {
  const [row] = await query(origin, {});
  if (row === undefined || row.origin === null || current === null || row.origin === current) return;
  throw new Error(
    'the database is a copy, such as a restored dump, so it may lack transactions that were sent; run relayer restore (see docs/operations.md)',
  );
}

/** Throws if the database was found to lack commits: a process that uses it alone must not sign. */
export async function requireNotRewound(query: Query, { found }: Pick<Statements, 'found'>): Promise<void> {
  const [row] = await query(found, {});
  if (row !== undefined) throw new Error(`the database lacks commits that it had answered: ${row.rewind_evidence}; run relayer restore`);
}
