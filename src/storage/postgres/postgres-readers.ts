import { setMaxListeners } from 'node:events';
import pg from 'pg';
import { StoreAwayError } from '../../core/ports/store/change.js';
import { startDeadline } from '../../core/work/abort.js';
import type { Log } from '../../core/work/log.js';
import { createParallelLimit } from '../../core/work/parallel-limit.js';
import type { Query, Statement } from '../sql/statement.js';
import { connectionOptions, prepareSession } from './postgres-writer.js';

const maxReaders = 8;
/** How long a read waits while all connections are in use. */
const queueTimeoutMs = 10_000;

/** The reading side of a database. */
export interface Readers {
  readonly query: Query;
  /**
   * Replaces all connections: the earlier ones may lead to a server that has lost its place. Reads that wait for a connection get one of
   * the new ones.
   */
  renew(): void;
  end(): Promise<void>;
}

/** Opens the reading side. It connects when it is first used. */
export function openReaders(connectionString: string, log: Log): Readers {
  let pool = openPool(connectionString, log);
  // Not the queue of the pool, which a pool that is ended never serves.
  const limit = createParallelLimit(maxReaders);
  const ending = new Set<Promise<void>>();
  const closing = new AbortController();
  // One listener for each read that waits.
  setMaxListeners(0, closing.signal);
  const allInUse = () => new StoreAwayError('the database is unavailable: all connections are in use');

  return {
    async query<P extends object, R>(statement: Statement<P, R>, values: P) {
      const bound = statement.bind(values);
      // PostgreSQL stores no text with a zero byte and refuses it as a value, so such a query finds nothing.
      if (bound.some((value) => typeof value === 'string' && value.includes('\0'))) return [];
      const wait = limit.isFull() ? startDeadline(queueTimeoutMs, { outer: closing.signal, reason: allInUse }) : null;
      try {
        const read = () => pool.query({ name: statement.name, text: statement.sql, values: bound });
        return (await limit.run(read, wait?.signal)).rows as R[];
      } finally {
        wait?.clear();
      }
    },
    renew() {
      const ended = pool.end().finally(() => ending.delete(ended));
      ending.add(ended);
      pool = openPool(connectionString, log);
      limit.forgetRunning();
    },
    async end() {
      closing.abort(new Error('the store is closed'));
      await Promise.all([pool.end(), ...ending]);
    },
  };
}

function openPool(connectionString: string, log: Log): pg.Pool {
  const pool = new pg.Pool({
    ...connectionOptions(connectionString),
    max: maxReaders,
    // The first read of a connection waits for this.
    onConnect: (reader) => prepareSession(reader, 'reader'),
  });
  // The pool replaces a broken idle connection. Without a listener, its error would end the process.
  pool.on('error', (error: Error & { client?: unknown }) => {
    // It holds the secret with which the server accepts a cancel request.
    delete error.client;
    log.warn({ err: error }, 'an idle database connection broke; the pool replaces it');
  });
  return pool;
}
