import { StoreAwayError, StoreBrokenError } from '../../core/ports/store/change.js';
import type { Database } from './database.js';

/** Error codes of SQLite, PostgreSQL and Node which mean that the database is unavailable, not that it refuses a value or a statement. */
const awayCodes: readonly RegExp[] = [
  // Locked by another program, or on a disk that fails.
  /^SQLITE_(BUSY|LOCKED|IOERR|CANTOPEN|PROTOCOL|NOMEM)(_|$)/,
  // Connection lost, out of resources, shut down or timed out, and failures of the server's system.
  /^(08|53|57|58)[0-9A-Z]{3}$/,
  // A connection that is refused: its password is being replaced, or the database is restored.
  /^(28[0-9A-Z]{3}|3D000)$/,
  // It waited too long for a lock.
  /^55P03$/,
  // Sockets and names.
  /^(E[A-Z]+|EAI_[A-Z]+)$/,
];

/** Messages of the PostgreSQL driver, and of kysely while it migrates, about their connections; these errors have no code. */
const awayMessages =
  /^Connection terminated|^timeout expired$|^timeout exceeded when trying to connect$|^Query read timeout$|not queryable$|^Postgres connection has been discarded$/;

/** A full database, and one that cannot be written, such as a standby. */
const unwritable = /^(53100|25006|SQLITE_(FULL|READONLY)(_.*)?)$/;
/**
 * A table, column, constraint or right that is missing; damaged files; a number of a sequence that is taken: any other unique violation is
 * a conflict, and does not come here.
 */
const damaged = /^(42...|XX...|23505|SQLITE_(ERROR|CORRUPT|NOTADB)(_.*)?)$/;

function codeOf(error: Error): string | null {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' ? code : null;
}

/** Returns the error as `StoreBrokenError` or `StoreAwayError` if it means that the database does not work, otherwise unchanged. */
export function asStoreAway<E>(error: E): E | StoreAwayError {
  if (!(error instanceof Error)) return error;
  const code = codeOf(error);
  const failsAllWrites = code !== null && unwritable.test(code);
  if (failsAllWrites || (code !== null && damaged.test(code)))
    return new StoreBrokenError(`the database is broken: ${error.message}`, { failsAllWrites, cause: error });
  const isAway = code === null ? awayMessages.test(error.message) : awayCodes.some((pattern) => pattern.test(code));
  return isAway ? new StoreAwayError(`the database is unavailable: ${error.message}`, { cause: error }) : error;
}

/** Returns the database's reads and writes, which fail with `StoreAwayError` while it is unavailable. */
export function withStoreAway({ query, runBatch }: Database): Pick<Database, 'query' | 'runBatch'> {
  return {
    query: (statement, values) =>
      query(statement, values).catch((error: unknown) => {
        throw asStoreAway(error);
      }),
    async runBatch(lists) {
      try {
        return (await runBatch(lists)).map(asStoreAway);
      } catch (error) {
        throw asStoreAway(error);
      }
    },
  };
}
