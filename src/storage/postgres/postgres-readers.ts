import pg from 'pg';
import { StoreAwayError } from '../../core/ports/store/change.js';
import type { Log } from '../../core/work/log.js';
import type { Query, Statement } from '../sql/statement.js';
import { connectionOptions, prepareSession } from './postgres-writer.js';

const maxReaders = 8;
/** How long a read waits while all connections are in use. */
const queueTimeoutMs = 10_000;

/** The reading side of a database. */
export interface Readers {
  readonly query: Query;
  /**
   * Replaces all connections: the earlier ones may lead to a server that has lost its place. Reads that wait for a connection get one of the new ones.
   */
  renew(): void;
  end(): Promise<void>;
}

/** A pool, and the number of its reads that run. */
interface Connections {
  readonly pool: pg.Pool;
  running: number;
}

interface Waiting {
  begin(connections: Connections): void;
  refuse(error: Error): void;
}

/** Opens the reading side. It connects when it is first used. */
export function openReaders(connectionString: string, log: Log): Readers {
  let current: Connections = { pool: openPool(connectionString, log), running: 0 };
  // Not in the queue of the pool, which a pool that is ended never serves.
  const queue = new Set<Waiting>();
  const ending = new Set<Promise<void>>();

  /** Resolves when a connection is free. */
  function take(): Promise<Connections> {
    if (current.running < maxReaders) {
      current.running += 1;
      return Promise.resolve(current);
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => refuse(new StoreAwayError('the database is unavailable: all connections are in use')), queueTimeoutMs);
      const leave = () => {
        clearTimeout(timer);
        queue.delete(waiting);
      };
      function refuse(error: Error): void {
        leave();
        reject(error);
      }
      function begin(connections: Connections): void {
        leave();
        resolve(connections);
      }
      const waiting: Waiting = { begin, refuse };
      queue.add(waiting);
    });
  }

  function serve(): void {
    for (const waiting of queue) {
      if (current.running >= maxReaders) return;
      current.running += 1;
      waiting.begin(current);
    }
  }

  return {
    async query<P extends object, R>(statement: Statement<P, R>, values: P) {
      const bound = statement.bind(values);
      // PostgreSQL stores no text with a zero byte and refuses it as a value, so such a query finds nothing.
      if (bound.some((value) => typeof value === 'string' && value.includes('\0'))) return [];
      const connections = await take();
      try {
        const result = await connections.pool.query({ name: statement.name, text: statement.sql, values: bound });
        return result.rows as R[];
      } finally {
        connections.running -= 1;
        serve();
      }
    },
    renew() {
      const ended = current.pool.end().finally(() => ending.delete(ended));
      ending.add(ended);
      current = { pool: openPool(connectionString, log), running: 0 };
      serve();
    },
    async end() {
      for (const waiting of queue) waiting.refuse(new Error('the store is closed'));
      await Promise.all([current.pool.end(), ...ending]);
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
