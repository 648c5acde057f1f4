import type Sqlite from 'better-sqlite3';
import { ConflictError } from '../../core/ports/store/change.js';
import type { ChangeList, Outcome } from '../database/commit-queue.js';
import { type BoundChange, locksOf, type Step } from '../sql/bound-change.js';
import { sqlite } from '../sql/dialect.js';
import { changePositionStatements } from '../statements/feed.js';
import { sqliteDriver } from './driver.js';

const { lock } = changePositionStatements(sqlite.builder);
const uniqueViolations = new Set(['SQLITE_CONSTRAINT_UNIQUE', 'SQLITE_CONSTRAINT_PRIMARYKEY']);

/** How SQLite refuses the transaction of a closed relayer, whose position would be null. */
const noPosition = 'NOT NULL constraint failed: transactions.position';

/** Prepares each statement of a connection once: preparing costs more than running. */
export function preparedStatements(db: Sqlite.Database): (statement: Step['statement']) => Sqlite.Statement<unknown[]> {
  const known = new Map<Step['statement'], Sqlite.Statement<unknown[]>>();
  return (statement) => {
    const prepared = known.get(statement) ?? db.prepare<unknown[]>(statement.sql);
    known.set(statement, prepared);
    return prepared;
  };
}

function isConflict(error: unknown): boolean {
  return error instanceof sqliteDriver().SqliteError && (uniqueViolations.has(error.code) || error.message === noPosition);
}

/**
 * Runs batches on the writing connection: one commit for all lists, of which a failed list is undone alone. `requireOwned` runs inside each
 * transaction; if it throws, nothing of the batch is written.
 */
export function createSqliteBatch(db: Sqlite.Database, requireOwned: () => void): (lists: readonly ChangeList[]) => readonly Outcome[] {
  const prepared = preparedStatements(db);
  const begin = db.prepare('begin immediate');
  const commit = db.prepare('commit');
  const rollback = db.prepare('rollback');
  const savepoint = db.prepare('savepoint list');
  const release = db.prepare('release list');
  const rollbackToSavepoint = db.prepare('rollback to list');

  function runChange({ name, steps }: BoundChange): void {
    try {
      for (const { statement, values, guarded } of steps) {
        const { changes } = prepared(statement).run(values);
        if (guarded && changes !== 1) throw new ConflictError(name);
      }
    } catch (error) {
      if (isConflict(error)) throw new ConflictError(name);
      throw error;
    }
  }

  function runList(list: ChangeList): Outcome {
    savepoint.run();
    try {
      list.forEach(runChange);
      release.run();
      return undefined;
    } catch (error) {
      // On some errors, such as a full disk, SQLite undoes the whole transaction, including the earlier lists.
      if (!db.inTransaction || !(error instanceof Error)) throw error;
      rollbackToSavepoint.run();
      release.run();
      return error;
    }
  }

  /** Runs the lists of a batch in one transaction. Throws if it is undone. */
  function inTransaction(lists: readonly ChangeList[], run: (list: ChangeList) => Outcome): readonly Outcome[] {
    begin.run();
    try {
      requireOwned();
      for (const { statement, values } of locksOf(lists, lock).values()) prepared(statement).run(values);
      const result = lists.map(run);
      commit.run();
      return result;
    } catch (error) {
      if (db.inTransaction) rollback.run();
      throw error;
    }
  }

  return (lists) => {
    let hasFailedList = false;
    const runPlainly = (list: ChangeList): Outcome => {
      try {
        list.forEach(runChange);
        return undefined;
      } catch (error) {
        hasFailedList = true;
        throw error;
      }
    };
    try {
      // Nearly all batches succeed, and a savepoint per list costs as much as a statement.
      return inTransaction(lists, runPlainly);
    } catch (error) {
      if (!hasFailedList) throw error;
      return inTransaction(lists, runList);
    }
  };
}
