import Sqlite from 'better-sqlite3';
import { Kysely, SqliteDialect } from 'kysely';
import type { Database } from '../../src/storage/database.js';
import { sqlite } from '../../src/storage/dialect.js';
import { migrate } from '../../src/storage/migrate.js';
import { createSqliteBatch, preparedStatements } from '../../src/storage/sqlite/sqlite-batch.js';

/** What happens to a commit: `refused`: nothing is written; `lost`: it is written, but the answer is an error. */
export type CommitFate = 'done' | 'refused' | 'lost';

/** A database in memory that outlives the processes that use it. */
export interface SimDatabase {
  /** Opens it for one process. `fateOf` and `delayMs` are asked for each batch. */
  connect(process: DatabaseProcess): Database;
  /** For checks: runs a query on what is committed. */
  query<R>(sql: string, ...values: readonly unknown[]): readonly R[];
  /** Grows with each batch that was written. */
  writes(): number;
  close(): void;
}

/** The process that uses a database. */
export interface DatabaseProcess {
  isAlive(): boolean;
  fate(): CommitFate;
  /** How long a batch takes; it is written after half of that. */
  delayMs(): number;
  after(ms: number, task: () => void): void;
}

/** An error as SQLite throws it while its disk fails. */
class DiskError extends Error {
  constructor(readonly code: string) {
    super(`the disk fails: ${code}`);
  }
}

let template: Promise<Buffer> | null = null;

async function migrated(): Promise<Buffer> {
  const db = new Sqlite(':memory:');
  await migrate(new Kysely<unknown>({ dialect: new SqliteDialect({ database: db }) }), sqlite);
  return db.serialize();
}

/** Opens an empty database with the current schema, with the statements and the batches of the service. */
export async function openSimDatabase(): Promise<SimDatabase> {
  template ??= migrated();
  const db = new Sqlite(await template);
  db.pragma('foreign_keys = ON');
  const prepared = preparedStatements(db);
  const write = createSqliteBatch(db, () => {});
  const checks = new Map<string, Sqlite.Statement<unknown[]>>();
  const never = new Promise<never>(() => {});
  let writes = 0;

  return {
    connect: (process) => ({
      query: async (statement, values) => (process.isAlive() ? (prepared(statement).all(statement.bind(values)) as never) : never),
      runBatch: (lists) =>
        new Promise((resolve, reject) => {
          if (!process.isAlive()) return;
          const fate = process.fate();
          const halfMs = process.delayMs() / 2;
          process.after(halfMs, () => {
            // A process that was killed before has written nothing.
            if (!process.isAlive()) return;
            if (fate === 'refused') return reject(new DiskError('SQLITE_FULL'));
            let outcomes: ReturnType<typeof write>;
            try {
              outcomes = write(lists);
            } catch (error) {
              return reject(error);
            }
            writes += 1;
            process.after(halfMs, () => {
              if (!process.isAlive()) return;
              if (fate === 'lost') reject(new DiskError('SQLITE_IOERR_FSYNC'));
              else resolve(outcomes);
            });
          });
        }),
      own: async () => {},
      lost: never,
      isAway: () => false,
      onReturn: () => undefined,
      logBytes: () => 0,
      close: async () => {},
    }),
    query<R>(sql: string, ...values: readonly unknown[]) {
      const statement = checks.get(sql) ?? db.prepare<unknown[]>(sql);
      checks.set(sql, statement);
      return statement.all(...values) as R[];
    },
    writes: () => writes,
    close: () => void db.close(),
  };
}
