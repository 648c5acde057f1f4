import { setImmediate } from 'node:timers/promises';
import { type Kysely, type Selectable, sql } from 'kysely';
import { type DomainError, invalidField } from '../../core/errors/errors.js';
import type { AuditLineChanges, AuditLineReads } from '../../core/ports/store/audit-lines.js';
import type { PageOf, PageQuery } from '../../core/ports/store/page.js';
import { type AuditFilter, type AuditLine, auditIdAt, auditLineId, type StoredAuditLine } from '../../core/work/audit-line.js';
import { BoundChange, type Step, step } from '../sql/bound-change.js';
import type { AuditLineTable, Schema } from '../sql/schema.js';
import { numbered, paddedToPowerOfTwo, perCount, type Query, statement } from '../sql/statement.js';

type Row = Selectable<AuditLineTable>;
/** What decides whether a row is in a list. */
type Candidate = Pick<Row, 'id' | 'key_id' | 'relayer_id' | 'method'>;
/** Rows from `from` on, before `before`. */
interface Range {
  readonly from: string;
  readonly before: string;
  readonly limit: number;
}
type Values = { readonly [value: `value_${number}`]: string };
type Ids = { readonly [id: `id_${number}`]: string };

const columns = ['id', 'key_id', 'relayer_id', 'transaction_id', 'method', 'line'] as const;

/** A line has a row for each of its transactions; the id of a row ends with its number. The first row has the text. */
const partDigits = 4;
const firstPart = '0'.repeat(partDigits);

/** The rows of one statement: more values would not fit into it. */
const maxRows = 64;
/** Rows that one query walks over: few enough that nothing else waits long. SQLite answers in this thread. */
const stride = 2_000;
/** The number of lines that are counted from the start of a page. */
const countedLines = 1_000;
/** Rows that one list reads at most: a filter by a method that few lines have could read all of them. */
const maxRead = 100_000;
/** Lists of more relayers walk over all lines. */
const maxRelayers = 64;

/** Statements on the stored copy of the audit log. */
export function auditLineStatements(db: Kysely<Schema>) {
  function inRange({ from, before }: Range) {
    return db
      .selectFrom('audit_lines')
      .select(['id', 'key_id', 'relayer_id', 'method'])
      .where('id', '>=', from)
      .where('id', '<', before)
      .orderBy('id', 'desc');
  }

  function ofColumn(column: 'key_id' | 'transaction_id') {
    return statement<Range & { readonly value: string }, Candidate>(`audit_lines_of_${column}`, (values) =>
      inRange(values).where(column, '=', values.value).limit(values.limit),
    );
  }

  return {
    put: perCount((count) =>
      statement<{ readonly [value: string]: string }, never>(`audit_lines_put_${count}`, (values) =>
        db
          .insertInto('audit_lines')
          .values(
            Array.from(
              { length: count },
              (_, index) => Object.fromEntries(columns.map((column) => [column, values[`${column}_${index}`]])) as unknown as Row,
            ),
          )
          .onConflict((conflict) => conflict.column('id').doNothing()),
      ),
    ),

    ofKey: ofColumn('key_id'),
    ofTransaction: ofColumn('transaction_id'),

    /** Each relayer by the index: a list of them would be read as a whole and sorted. */
    ofRelayers: perCount((count) =>
      statement<Range & Values, Candidate>(`audit_lines_of_relayers_${count}`, (values) => {
        const newest = Array.from(
          { length: count },
          (_, index) =>
            sql`select * from (${inRange(values)
              .where('relayer_id', '=', values[`value_${index}`] as string)
              .limit(values.limit)}) as part`,
        );
        const all = sql<Candidate>`select id, key_id, relayer_id, method from (${sql.join(newest, sql` union `)}) as found
          order by id desc limit ${values.limit} + 0`;
        return { compile: () => all.compile(db) };
      }),
    ),

    all: statement<Range, Candidate>('audit_lines_all', (values) => inRange(values).limit(values.limit)),

    texts: perCount((count) =>
      statement<Ids, Pick<Row, 'id' | 'line'>>(`audit_lines_texts_${count}`, (values) =>
        db
          .selectFrom('audit_lines')
          .select(['id', 'line'])
          .where(
            'id',
            'in',
            Array.from({ length: count }, (_, index) => values[`id_${index}`] as string),
          ),
      ),
    ),

    first: statement<object, Pick<Row, 'id'>>('audit_lines_first', () =>
      db.selectFrom('audit_lines').select('id').orderBy('id').limit(sql.lit(1)),
    ),

    deleteBefore: statement<{ before: string; limit: number }, never>('audit_lines_delete_before', (values) =>
      db
        .deleteFrom('audit_lines')
        .where('id', 'in', (eb) =>
          eb.selectFrom('audit_lines as old').select('old.id').where('old.id', '<', values.before).orderBy('old.id').limit(values.limit),
        ),
    ),
  };
}

type Statements = ReturnType<typeof auditLineStatements>;

/** Queries of the stored copy of the audit log. */
export function auditLineReads(statements: Statements, query: Query): AuditLineReads {
  const { from: oldest, before: newest } = { from: '', before: 'g' };

  /** Reads the next rows that can be in the list, by the index that leaves the fewest. */
  function candidates({ transactionId, relayerIds, keyId }: AuditFilter, range: Range): Promise<readonly Candidate[]> {
    if (transactionId !== undefined) return query(statements.ofTransaction, { ...range, value: transactionId });
    if (keyId !== undefined) return query(statements.ofKey, { ...range, value: keyId });
    if (relayerIds === undefined || relayerIds.length > maxRelayers) return query(statements.all, range);
    const padded = paddedToPowerOfTwo(relayerIds);
    return query(statements.ofRelayers(padded.length), { ...range, ...numbered('value', padded) });
  }

  async function withTexts(ids: readonly string[]): Promise<readonly StoredAuditLine[]> {
    if (ids.length === 0) return [];
    const padded = paddedToPowerOfTwo(ids.map((id) => id + firstPart));
    const rows = await query(statements.texts(padded.length), numbered('id', padded));
    const texts = new Map(rows.map(({ id, line }) => [lineIdOf(id), line]));
    // A line may have been deleted since.
    return ids.flatMap((id) => {
      const text = texts.get(id);
      return text === undefined ? [] : [{ id, text }];
    });
  }

  async function auditLines(filter: AuditFilter, { offset, limit, after }: PageQuery): Promise<PageOf<StoredAuditLine>> {
    const isListed = listedBy(filter);
    const from = filter.fromMs === undefined ? oldest : auditIdAt(filter.fromMs);
    const until = filter.beforeMs === undefined ? newest : auditIdAt(filter.beforeMs);
    let before = after !== undefined && after < until ? after : until;
    const ids: string[] = [];
    let count = 0;
    if (filter.relayerIds?.length === 0) return { items: [], total: 0 };
    for (let read = 0; count <= offset + countedLines; read += stride) {
      if (read >= maxRead) throw tooFewListed(filter);
      const rows = await candidates(filter, { from, before, limit: stride });
      for (const row of rows) {
        if (!isListed(row)) continue;
        if (count >= offset && ids.length < limit) ids.push(lineIdOf(row.id));
        count += 1;
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < stride) return { items: await withTexts(ids), total: count };
      before = last.id;
      await setImmediate();
    }
    return { items: await withTexts(ids), total: offset + countedLines, hasMore: true };
  }

  return {
    auditLines,
    async hasAuditLineBefore(beforeMs) {
      const [first] = await query(statements.first, {});
      return first !== undefined && first.id < auditIdAt(beforeMs);
    },
  };
}

function tooFewListed({ method }: AuditFilter): DomainError {
  return invalidField(
    method === undefined ? 'page' : 'method',
    `leads through more than ${maxRead} lines, of which too few match; limit the list by created_after and created_before`,
  );
}

/** The id of the line that a row is of. */
function lineIdOf(rowId: string): string {
  return rowId.slice(0, -partDigits);
}

/** Without a transaction, a line counts by its first row alone. */
function listedBy({ transactionId, relayerIds, keyId, method }: AuditFilter): (row: Candidate) => boolean {
  const relayers = relayerIds === undefined ? null : new Set<string | null>(relayerIds);
  return ({ id, key_id, relayer_id, method: methodOfRow }) =>
    (transactionId !== undefined || id.endsWith(firstPart)) &&
    (keyId === undefined || key_id === keyId) &&
    (method === undefined || methodOfRow === method) &&
    (relayers === null || relayers.has(relayer_id));
}

/** Changes of the stored copy of the audit log. */
export function auditLineChanges(statements: Statements): AuditLineChanges {
  return {
    putAuditLines: (lines) => new BoundChange('putAuditLines', putSteps(statements, lines.flatMap(rowsOf))),
    deleteAuditLines: (beforeMs, limit) =>
      new BoundChange('deleteAuditLines', [step(statements.deleteBefore, { before: auditIdAt(beforeMs), limit })]),
  };
}

/** The values of a row, in the order of `columns`. */
type RowValues = readonly (string | null)[];

function rowsOf(line: AuditLine): readonly RowValues[] {
  const { keyId, relayerId, transactionIds, method, text } = line;
  const lineId = auditLineId(line);
  const first = [lineId + firstPart, keyId, relayerId, transactionIds[0] ?? null, method, text];
  if (transactionIds.length < 2) return [first];
  const idOf = (part: number) => lineId + part.toString(16).padStart(partDigits, '0');
  return [first, ...transactionIds.slice(1).map((id, index) => [idOf(index + 1), keyId, relayerId, id, method, ''])];
}

/** Puts as many rows as possible into each statement: few statements serve any number of rows, and each costs as much as several rows. */
function putSteps({ put }: Pick<Statements, 'put'>, rows: readonly RowValues[]): readonly Step[] {
  const steps: Step[] = [];
  for (let start = 0; start < rows.length; ) {
    const count = Math.min(maxRows, 2 ** Math.floor(Math.log2(rows.length - start)));
    // The parameters are in this order, and there are too many to bind each by its name.
    steps.push({ statement: put(count), values: rows.slice(start, start + count).flat(), guarded: false });
    start += count;
  }
  return steps;
}
