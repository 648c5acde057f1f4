import type { RunBatch } from './commit-queue.js';
import type { Query } from './reads.js';

/** An opened database, held by this process alone. Made by `openSqlite` and `openPostgres`; `createStore` makes a store of it. */
export interface Database {
  readonly runBatch: RunBatch;
  readonly query: Query;
  /** Resolves with the reason when the instance lock is lost: nothing can be written then, for another process may hold it. */
  readonly lost: Promise<Error>;
  /** Closes every connection and, last, frees the lock. */
  close(): Promise<void>;
}

/** A database whose instance lock this process has taken; nothing else was done with it. */
export interface LockedDatabase {
  /** Names of the migrations that were run. */
  migrate(): Promise<string[]>;
  /** Opens what reads and writes, once its tables are there. */
  open(): Promise<Database>;
  /** Frees the lock of a database that was not opened. */
  unlock(): Promise<void>;
}
