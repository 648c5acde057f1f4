import pg from 'pg';
import { inTime } from '../../core/work/abort.js';
import { connect, connectionOptions, endConnection } from './postgres-writer.js';

/** A pooler shows itself at the first look, or later if its connections take turns. */
const looks = 3;
/** In transaction mode, a pool with one connection answers no other client meanwhile. */
const patienceMs = 2_000;

const sharedSession =
  'DATABASE_URL leads through a pooler in transaction mode, such as PgBouncer with pool_mode = transaction; the instance lock and the settings of the session need direct connections: use the address of the PostgreSQL server, or a pool with pool_mode = session';

/**
 * Throws if connections share their sessions with others: the instance lock would then keep no second process out, and both would use the
 * same nonces. Call it before the lock is taken, which such a pooler would keep.
 *
 * A pooler in transaction mode gives a connection of the server to each client for as long as its transaction runs. While another client
 * holds a connection, this client gets a different one than before, or the other client has got the connection of this client.
 */
export async function requireOwnSession(connectionString: string): Promise<void> {
  const [one, other] = [new pg.Client(connectionOptions(connectionString)), new pg.Client(connectionOptions(connectionString))];
  try {
    for (const client of [one, other]) {
      client.on('error', () => undefined);
      await connect(client);
    }
    const own = await backendOf(one);
    for (let look = 0; look < looks; look += 1) {
      await other.query('begin');
      const ofOther = await backendOf(other);
      const asked = backendOf(one);
      const meanwhile = await inTime(asked, patienceMs, null);
      await other.query('rollback');
      // If connections take turns, two questions in a row reach two of them.
      const later = [await asked, await backendOf(one), await backendOf(one)];
      if (ofOther === own || meanwhile !== own || later.some((backend) => backend !== own)) throw new Error(sharedSession);
    }
  } finally {
    await Promise.all([one, other].map(endConnection));
  }
}

async function backendOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid ?? 0;
}
