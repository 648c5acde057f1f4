import { createRequire } from 'node:module';
import type Driver from 'better-sqlite3';

const require = createRequire(import.meta.url);

/** The version of Node-API that better-sqlite3 13 uses. On an older runtime, loading it ends the process. */
const neededNodeApi = 10;

/** Thrown if the SQLite library cannot be loaded. Its message is one sentence for the operator. */
export class SqliteDriverError extends Error {
  override readonly name = 'SqliteDriverError';
}

let loaded: typeof Driver | undefined;

/**
 * Returns the SQLite library that this runtime can run: better-sqlite3 13, or 12 on Node.js 20. It is loaded at the first call, so that a
 * service on PostgreSQL works without it. Throws `SqliteDriverError`.
 */
export function sqliteDriver(): typeof Driver {
  loaded ??= load(Number(process.versions.napi) >= neededNodeApi ? 'better-sqlite3' : 'better-sqlite3-node20');
  return loaded;
}

function load(name: string): typeof Driver {
  try {
    const driver: typeof Driver = require(name);
    // The native code is loaded only with the first database.
    new driver(':memory:').close();
    return driver;
  } catch (cause) {
    const reason = (cause instanceof Error ? cause.message : String(cause)).split('\n')[0];
    const runtime = `Node.js ${process.versions.node} on ${process.platform}-${process.arch}`;
    throw new SqliteDriverError(
      `the SQLite library ${name} cannot be loaded with ${runtime}; install the packages again with this Node.js, optional ones included: ${reason}`,
    );
  }
}
