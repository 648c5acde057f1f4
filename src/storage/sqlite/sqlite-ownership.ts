import { statSync } from 'node:fs';
import type Sqlite from 'better-sqlite3';
import { sqlite } from '../dialect.js';
import { instanceStatements } from '../statements/instances.js';

/** How often an idle service checks that its files are still in place. */
const checkIntervalMs = 1_000;

/** Checks that the open database is still the one at its path, and still ours. */
export interface SqliteOwnership {
  /** From now on each batch requires this token in the row of the owner. */
  takeToken(token: string): void;
  /** Throws if another process has recorded itself as the owner: it could take the lock because our lock file was deleted. */
  requireToken(): void;
  /** Throws if one of the files was removed or replaced: SQLite writes on into the old one, which no later start finds. */
  requireFiles(): void;
  /** Resolves with the first error that these methods, or the check once a second, find. */
  readonly lost: Promise<Error>;
  stop(): void;
}

/** Remembers the files as they are now. */
export function createSqliteOwnership(writer: Sqlite.Database, files: readonly string[]): SqliteOwnership {
  const { sql, bind } = instanceStatements(sqlite.builder).fence;
  const known = files.map((file) => ({ file, identity: identityOf(file) }));
  let fence: Sqlite.Statement<unknown[]> | null = null;
  let values: unknown[] = [];
  let loss: Error | null = null;
  let resolveLost: (error: Error) => void = () => undefined;
  const lost = new Promise<Error>((resolve) => {
    resolveLost = resolve;
  });

  function lose(message: string): never {
    loss ??= new Error(message);
    resolveLost(loss);
    throw loss;
  }

  function requireFiles(): void {
    if (loss !== null) throw loss;
    const changed = known.find(({ file, identity }) => identityOf(file) !== identity);
    if (changed !== undefined)
      lose(`${changed.file} was removed or replaced while the service uses it; put the original back if it still exists, and start again`);
  }

  const timer = setInterval(() => {
    try {
      requireFiles();
    } catch {
      // `lost` has resolved with this error.
    }
  }, checkIntervalMs);

  return {
    takeToken(token) {
      fence = writer.prepare<unknown[]>(sql);
      values = bind({ number: 1, token });
    },
    requireToken() {
      if (fence !== null && fence.get(values) === undefined) lose('another process took over the database; only one process can use it');
    },
    requireFiles,
    lost,
    stop: () => clearInterval(timer),
  };
}

/** Returns the identity of a file, which does not depend on its path; null if it does not exist. */
function identityOf(file: string): string | null {
  const found = statSync(file, { throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev}:${found.ino}`;
}
