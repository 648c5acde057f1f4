import { StoreAwayError } from '../core/ports/store.js';
import type { Database } from './database.js';

/** Codes of SQLite, PostgreSQL and Node for a database that is away: not for values or statements that it refuses. */
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

/** What the driver of PostgreSQL says of its own connections; these errors have no code. */
const awayMessages =
  /^Connection terminated|^timeout expired$|^timeout exceeded when trying to connect$|^Query read timeout$|not queryable$/;

function isAway(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' ? awayCodes.some((pattern) => pattern.test(code)) : awayMessages.test(error.message);
}

/** Returns the error as `StoreAwayError` if it says that the database is away; else as it is. */
export function asStoreAway<E>(error: E): E | StoreAwayError {
  return isAway(error) ? new StoreAwayError(`the database is away: ${error.message}`, { cause: error }) : error;
}

/** Returns the database's reads and writes, which fail with `StoreAwayError` while it is away. */
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
