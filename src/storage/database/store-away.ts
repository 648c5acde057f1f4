import { StoreAwayError } from '../../core/ports/store/change.js';
import type { Database } from './database.js';

/** Error codes of SQLite, PostgreSQL and Node which mean that the database is unavailable, not that it refuses a value or a statement. */
const awayCodes: readonly RegExp[] = [
  // Locked by another program, full, or on a disk that fails.
  /^SQLITE_(BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|PROTOCOL|NOMEM)(_|$)/,
  // Connection lost, out of resources, shut down or timed out, and failures of the server's system.
  /^(08|53|57|58)[0-9A-Z]{3}$/,
  // The server is a standby now, or waited too long for a lock.
  /^(25006|55P03)$/,
  // Sockets and names.
  /^(E[A-Z]+|EAI_[A-Z]+)$/,
];

/** Messages of the PostgreSQL driver about its own connections; these errors have no code. */
const awayMessages =
  /^Connection terminated|^timeout expired$|^timeout exceeded when trying to connect$|^Query read timeout$|not queryable$/;

function isAway(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' ? awayCodes.some((pattern) => pattern.test(code)) : awayMessages.test(error.message);
}

/** Returns the error as `StoreAwayError` if it means that the database is unavailable, otherwise unchanged. */
export function asStoreAway<E>(error: E): E | StoreAwayError {
  return isAway(error) ? new StoreAwayError(`the database is unavailable: ${error.message}`, { cause: error }) : error;
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
