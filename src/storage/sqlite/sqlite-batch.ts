import Sqlite from 'better-sqlite3';
import { ConflictError } from '../../core/ports/store.js';
import type { BoundChange } from '../bound-change.js';
import type { ChangeList, Outcome, RunBatch } from '../commit-queue.js';
import { preparedStatements } from './prepared-statements.js';

const uniqueViolations = new Set(['SQLITE_CONSTRAINT_UNIQUE', 'SQLITE_CONSTRAINT_PRIMARYKEY']);

/** Runs batches on the writing connection: one commit for all lists, a savepoint each, so that a list which fails is undone alone. */
export function createSqliteBatch(db: Sqlite.Database): RunBatch {
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
      if (error instanceof Sqlite.SqliteError && uniqueViolations.has(error.code)) throw new ConflictError(name);
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
      // A full disk, say, makes SQLite undo the whole transaction, and with it all lists before this one.
      if (!db.inTransaction || !(error instanceof Error)) throw error;
      rollbackToSavepoint.run();
      release.run();
      return error;
    }
  }

  return (lists) => {
    begin.run();
    try {
      const outcomes = lists.map(runList);
      commit.run();
      return outcomes;
    } catch (error) {
      if (db.inTransaction) rollback.run();
      throw error;
    }
  };
}
