import type { Query } from '../sql/statement.js';
import type { OwnConnection, OwnRecord, OwnRow } from '../statements/instances.js';
import type { RunBatch } from './commit-queue.js';

/** An opened database, from which `createStore` makes a store. */
export interface Database {
  readonly runBatch: RunBatch;
  readonly query: Query;
  /**
   * Writes the record of this process, which gets its connection (PostgreSQL only). Every batch then fails once the record is gone or has
   * another token. Call it again if the record was removed.
   */
  own(record: (connection: OwnConnection | null) => OwnRecord): Promise<OwnRow>;
  /** The number of the record of this process. */
  ownNumber(): number;
  /** True if another instance has removed the record of this one: writes fail until it is recorded again. */
  isRemoved(): boolean;
  /** What shows that the database lacks commits that it had answered to this process; null: nothing, or it is recorded by now. */
  rewind(): string | null;
  /** Resolves with the reason when the database is lost to this process: another process owns it, or its file is gone. */
  readonly lost: Promise<Error>;
  /** How many connections have written until now, with the present one: each replaces a lost one. */
  connections(): number;
  /** True while every write fails: the connection to PostgreSQL is lost, which is replaced in place, or this process was removed. */
  isAway(): boolean;
  /** Calls `listener` each time that PostgreSQL is back after its connection was lost. */
  onReturn(listener: () => void): void;
  /** Returns the size of SQLite's write-ahead log; 0 on PostgreSQL. */
  logBytes(): number;
  /** Closes every connection, then releases the lock. */
  close(): Promise<void>;
}

/** A database whose instance lock this process holds; it is not opened yet. */
export interface LockedDatabase {
  /** Returns the names of the migrations that ran. */
  migrate(): Promise<string[]>;
  /** Opens the database for reading and writing, after the migrations. */
  open(): Promise<Database>;
  /** Releases the lock of a database that was not opened. */
  unlock(): Promise<void>;
}
