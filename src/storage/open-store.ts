import { SigningHeldError } from '../core/ports/database-state.js';
import type { InstanceState } from '../core/ports/instances.js';
import type { SharedDatabase } from '../core/ports/shared-database.js';
import { hasChange, type Store } from '../core/ports/store/store.js';
import type { Meter } from '../core/ports/telemetry.js';
import { systemClock } from '../core/work/clock.js';
import { later } from '../core/work/later.js';
import type { Log } from '../core/work/log.js';
import { createStore } from './create-store.js';
import type { Database, LockedDatabase } from './database/database.js';
import { addressFromUrl } from './database-url.js';
import { postgres, sqlite } from './sql/dialect.js';
import { lockSqlite } from './sqlite/open-sqlite.js';
import { compileStatements, type Statements } from './statements/all-statements.js';
import { type InstanceFacts, type OwnConnection, type OwnRow, recordAlone, recordSharing } from './statements/instances.js';
import { readOrigin, requireNotRewound, requireSameOrigin } from './statements/rewinds.js';

/** A store that is ready. */
export interface OpenedStore {
  readonly store: Store;
  /** The names of the migrations that ran. */
  readonly migrations: readonly string[];
  /** Null: the process uses the database alone. Otherwise it can commit nothing before it has joined. */
  readonly shared: SharedDatabase | null;
  /** Resolves with the reason when the database is lost to this process: every later commit fails, so the process should end. */
  readonly lost: Promise<Error>;
  /**
   * True while every write fails: the connection to PostgreSQL is lost, or another instance took over the work of this one, which joins
   * again.
   */
  isAway(): boolean;
  /** Calls `listener` each time that PostgreSQL is back. Another server may have taken over, and may lack the last commits. */
  onReturn(listener: () => void): void;
  /** Returns the size of SQLite's write-ahead log; 0 on PostgreSQL. */
  logBytes(): number;
}

/** How to open a database. */
export interface OpenOptions {
  readonly log: Log;
  readonly meter?: Meter;
  /** An instance, which shares a PostgreSQL database with others. Absent: a command, which needs the database alone. */
  readonly instance?: InstanceFacts;
  /** Keeps the record of this instance over its attempts to start: each one removes what the one before left if it lost its connection. */
  readonly attempts?: { record: OwnRow | null };
  /** True: `relayer restore`, which makes a copy usable. Others refuse a PostgreSQL database whose tables were copied by rows. */
  readonly acceptsCopy?: boolean;
}

async function openLocked(locked: LockedDatabase): Promise<{ database: Database; migrations: string[] }> {
  try {
    const migrations = await locked.migrate();
    return { database: await locked.open(), migrations };
  } catch (error) {
    await locked.unlock();
    throw error;
  }
}

/**
 * Opens the database at `sqlite:<file>`, whose folders it makes, or at `postgres://...`: takes the instance lock, runs the migrations and
 * records this process, unless it shares the database and has to join. Throws `DatabaseLockedError` if another process works on the
 * database, unless both are instances on PostgreSQL, and an error whose message is for the operator if the URL is invalid.
 */
export async function openStore(databaseUrl: string, options: OpenOptions): Promise<OpenedStore> {
  const address = addressFromUrl(databaseUrl);
  if (address.dialect === 'postgres') return openPostgresStore(address.connectionString, options);
  const { database, migrations } = await openLocked(lockSqlite(address.file));
  return openAlone(database, migrations, compileStatements(sqlite), options);
}

async function openAlone(
  database: Database,
  migrations: readonly string[],
  statements: Statements,
  { log, meter, instance, acceptsCopy }: OpenOptions,
): Promise<OpenedStore> {
  try {
    if (instance !== undefined && acceptsCopy !== true) await requireNotRewound(database.query, statements.rewinds);
    await database.own((connection) => recordAlone(statements, connection));
  } catch (error) {
    await database.close();
    throw error;
  }
  const store = createStore(database, statements, { clock: systemClock, log, ...(meter && { meter }) });
  const rest = restOf(database, migrations);
  const { store: watched, rewound } = watchRewind(store);
  return { ...rest, store: watched, shared: null, lost: Promise.race([rest.lost, rewound]) };
}

const rewoundReason = 'the database lacks commits that it had answered; run relayer restore';

/**
 * Returns the same store, which stores no attempt once it has recorded that the database lacks commits, and a promise that resolves then:
 * the process must end.
 */
function watchRewind(store: Store): { readonly store: Store; readonly rewound: Promise<Error> } {
  let isFound = false;
  const rewound = later<Error>();
  const commit: Store['commit'] = async (changes) => {
    if (isFound && hasChange(changes, 'insertAttempt')) throw new SigningHeldError(rewoundReason);
    await store.commit(changes);
    if (!hasChange(changes, 'recordRewind')) return;
    isFound = true;
    rewound.resolve(new Error(rewoundReason));
  };
  return { store: { ...store, commit }, rewound: rewound.promise };
}

async function openPostgresStore(connectionString: string, options: OpenOptions): Promise<OpenedStore> {
  const { log, meter, instance } = options;
  const { lockPostgres } = await import('./postgres/open-postgres.js');
  const { connectionNameOf } = await import('./postgres/postgres-instances.js');
  const { postgresObserver } = await import('./postgres/postgres-observer.js');
  const { createSharedDatabase } = await import('./postgres/shared-database.js');
  const statements = compileStatements(postgres);
  const name = instance === undefined ? undefined : connectionNameOf(instance.version);
  const locked = await lockPostgres(connectionString, { log, isShared: instance !== undefined, name });
  const { database, migrations } = await openLocked(locked);
  const origin = await originOf(database, statements, options).catch(async (error: unknown) => {
    await database.close();
    throw error;
  });
  if (instance === undefined) return openAlone(database, migrations, statements, options);
  const store = createStore(database, statements, { clock: systemClock, log, ...(meter && { meter }) });
  const openObserver = postgresObserver(connectionString, locked.schema, name);
  const { attempts } = options;
  const earlier = attempts?.record ?? null;
  const record = (state: InstanceState, connection: OwnConnection | null, rewind: string | null) => {
    const made = recordSharing(statements, connection, { ...instance, state, rewind, origin, earlier });
    if (attempts !== undefined) attempts.record = made.own;
    return made;
  };
  const shared = createSharedDatabase({ openObserver, statements, database, record, clock: systemClock, commit: store.commit });
  return { store, shared, ...restOf(database, migrations) };
}

/** Reads where the tables are. Throws if rows of them were copied, unless that is accepted. */
async function originOf({ query }: Database, { rewinds }: Statements, { acceptsCopy }: OpenOptions): Promise<string | null> {
  const origin = await readOrigin(query, rewinds);
  if (acceptsCopy !== true) await requireSameOrigin(query, rewinds, origin);
  return origin;
}

function restOf(
  { lost, isAway, onReturn, logBytes }: Database,
  migrations: readonly string[],
): Pick<OpenedStore, 'migrations' | 'lost' | 'isAway' | 'onReturn' | 'logBytes'> {
  return { migrations, lost, isAway, onReturn, logBytes };
}

/** Runs the migrations and returns their names. Fails as `openStore` does, but lets instances go on that share the database. */
export async function migrateDatabase(databaseUrl: string, options: { readonly log: Log }): Promise<string[]> {
  const address = addressFromUrl(databaseUrl);
  const locked =
    address.dialect === 'sqlite'
      ? lockSqlite(address.file)
      : await (await import('./postgres/open-postgres.js')).lockPostgres(address.connectionString, {
          ...options,
          isShared: true,
          name: undefined,
        });
  try {
    return await locked.migrate();
  } finally {
    await locked.unlock();
  }
}

/** Returns the same store, which calls `wake` after each commit that makes an event pending. */
export function wakeOnEvents<S extends Pick<Store, 'commit'>>(store: S, wake: () => void): S {
  return {
    ...store,
    async commit(changes) {
      await store.commit(changes);
      if (hasChange(changes, 'insertEvent', 'redeliverEvent')) wake();
    },
  };
}
