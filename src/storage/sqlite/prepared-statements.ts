import type Sqlite from 'better-sqlite3';
import type { Step } from '../bound-change.js';

/** Prepares each statement of a connection once: preparing costs more than running. */
export function preparedStatements(db: Sqlite.Database): (statement: Step['statement']) => Sqlite.Statement<unknown[]> {
  const known = new Map<Step['statement'], Sqlite.Statement<unknown[]>>();
  return (statement) => {
    let prepared = known.get(statement);
    if (prepared === undefined) {
      prepared = db.prepare<unknown[]>(statement.sql);
      known.set(statement, prepared);
    }
    return prepared;
  };
}
