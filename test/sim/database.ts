import type Sqlite from 'better-sqlite3';
import { Kysely, SqliteDialect } from 'kysely';
import type { Database } from '../../src/storage/database/database.js';
import { migrate } from '../../src/storage/database/migrate.js';
import { sqlite } from '../../src/storage/sql/dialect.js';
import { sqliteDriver } from '../../src/storage/sqlite/driver.js';
import { createSqliteBatch, preparedStatements } from '../../src/storage/sqlite/sqlite-batch.js';
import { createSqliteOwnership } from '../../src/storage/sqlite/sqlite-ownership.js';
import { instanceStatements } from '../../src/storage/statements/instances.js';
import { type CommitFate, DiskError } from './disk-error.js';
import { createServer, type Server } from './server.js';

/** A database in memory that outlives the processes that use it. */
export interface SimDatabase {
  /** Opens it for one process, which is its owner from now on. `fateOf` and `delayMs` are asked for each batch. */
  connect(process: DatabaseProcess): Database;
  /** Opens it for one of several processes that share it. */
  readonly share: Server['connect'];
  /** Opens it for a command while no process runs. */
  openAlone(): Database;
  /**
   * Keeps what is committed now, and returns what puts that in place again, until it is called again: a standby that has received
   * nothing since takes over, and all connections are lost.
   */
  keep(): () => void;
  /** For checks: runs a query on what is committed. */
  query<R>(sql: string, ...values: readonly unknown[]): readonly R[];
  /** Grows with each batch that was written. */
  writes(): number;
  close(): void;
}

/** The process that uses a database. */
export interface DatabaseProcess {
  isAlive(): boolean;
  /** Gives the process what arrives there: it may hang. */
  arrive(task: () => void): void;
  /** False: a process can write after another one became the owner, so only the guards of its commits protect what that one wrote. */
  readonly isFenced: boolean;
  /** Called if the process wrote something after another one became the owner. */
  wroteStale(): void;
  fate(): CommitFate;
  /** How long a batch takes; it is written after half of that. */
  delayMs(): number;
  after(ms: number, task: () => void): void;
}

/** True for the error of a process after another one became the owner. */
export function isLostDatabase(error: unknown): boolean {
  return error instanceof Error && error.message.includes('another process took over the database');
}

const noFacts = {
  host: 'sim',
  since_ms: 0,
  checked_at_ms: 0,
  version: null,
  config_hashes: null,
  config_revision: null,
  backend_pid: null,
  backend_started: null,
  state: null,
  timeline: null,
  is_synchronous: null,
};

/** What is the same for all processes that use the database alone. */
const alone: Omit<Database, 'query' | 'runBatch'> = {
  own: async () => ({ number: 1, token: 'alone' }),
  ownNumber: () => 1,
  connections: () => 1,
  isRemoved: () => false,
  rewind: () => null,
  lost: new Promise(() => {}),
  isAway: () => false,
  onReturn: () => undefined,
  logBytes: () => 0,
  close: async () => {},
};

/** The table of the last numbers that SQLite gave to rows. */
const sequences = 'sqlite_sequence';

let template: Promise<Buffer> | null = null;

async function migrated(): Promise<Buffer> {
  const db = new (sqliteDriver())(':memory:');
  await migrate(new Kysely<unknown>({ dialect: new SqliteDialect({ database: db }) }), sqlite);
  return db.serialize();
}

/** Opens an empty database with the current schema, with the statements and the batches of the service. */
export async function openSimDatabase(): Promise<SimDatabase> {
  template ??= migrated();
  const db = new (sqliteDriver())(await template);
  db.pragma('foreign_keys = ON');
  const prepared = preparedStatements(db);
  const { record } = instanceStatements(sqlite);
  const checks = new Map<string, Sqlite.Statement<unknown[]>>();
  const never = new Promise<never>(() => {});
  let writes = 0;
  let owners = 0;
  db.exec(`attach ':memory:' as kept`);
  const server = createServer(db, () => {
    writes += 1;
  });

  return {
    connect(process) {
      owners += 1;
      const owner = owners;
      const token = `owner ${owner}`;
      const own = { number: 1, token };
      const row = { ...own, ...noFacts, pid: owner };
      db.prepare<unknown[]>(record.sql).run(record.bind(row));
      const ownership = createSqliteOwnership(db, null);
      ownership.stop();
      ownership.requireRecord(own);
      const write = createSqliteBatch(db, process.isFenced ? ownership.requireToken : () => {});
      return {
        query: async (statement, values) => (process.isAlive() ? (prepared(statement).all(statement.bind(values)) as never) : never),
        runBatch: (lists) =>
          new Promise((resolve, reject) => {
            if (!process.isAlive()) return;
            const fate = process.fate();
            const halfMs = process.delayMs() / 2;
            const arriveAfter = (ms: number, task: () => void): void => process.after(ms, () => process.arrive(task));
            // A process that was killed before has written nothing.
            arriveAfter(halfMs, () => {
              if (fate === 'refused') return reject(new DiskError('SQLITE_FULL'));
              let outcomes: ReturnType<typeof write>;
              try {
                outcomes = write(lists);
              } catch (error) {
                return reject(error);
              }
              writes += 1;
              if (owner !== owners) process.wroteStale();
              arriveAfter(halfMs, () => {
                if (fate === 'lost') reject(new DiskError('SQLITE_IOERR_FSYNC'));
                else resolve(outcomes);
              });
            });
          }),
        ...alone,
        own: async () => own,
        lost: ownership.lost,
      };
    },
    share: server.connect,
    openAlone() {
      const write = createSqliteBatch(db, () => {});
      return {
        ...alone,
        query: async (statement, values) => prepared(statement).all(statement.bind(values)) as never,
        async runBatch(lists) {
          writes += 1;
          return write(lists);
        },
      };
    },
    keep() {
      const names = db.prepare<[], { name: string }>(`select name from sqlite_master where type = 'table'`).all();
      // The sequences last: rows that are put in place move them.
      const tables = [...names.filter(({ name }) => name !== sequences), { name: sequences }];
      for (const { name } of tables)
        db.exec(`drop table if exists kept.kept_${name}; create table kept.kept_${name} as select * from main.${name}`);
      return () => {
        db.pragma('foreign_keys = OFF');
        for (const { name } of tables) db.exec(`delete from main.${name}; insert into main.${name} select * from kept.kept_${name}`);
        db.pragma('foreign_keys = ON');
        writes += 1;
        server.failOver();
      };
    },
    query<R>(sql: string, ...values: readonly unknown[]) {
      const statement = checks.get(sql) ?? db.prepare<unknown[]>(sql);
      checks.set(sql, statement);
      return statement.all(...values) as R[];
    },
    writes: () => writes,
    close: () => void db.close(),
  };
}
