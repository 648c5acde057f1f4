import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import pg from 'pg';
import { inTime } from '../../core/work/abort.js';
import { instanceLock, isInstanceLock } from './postgres-lock.js';
import { connect, connectionOptions, endConnection } from './postgres-writer.js';

/** A pooler shows itself at the first look, or later if its connections take turns. */
const looks = 3;
/** In transaction mode, a pool with one connection answers no other client meanwhile. */
const patienceMs = 2_000;
/** How long a notification may take. */
const notificationMs = 5_000;

/** SQLSTATEs of statements that a database does not know or support. */
const lackingFeature = /^(0A|42)/;

const sharedSession =
  'DATABASE_URL leads through a pooler in transaction mode, such as PgBouncer with pool_mode = transaction; the instance lock and the settings of the session need direct connections: use the address of the PostgreSQL server, or a pool with pool_mode = session';

/**
 * Throws if connections share their sessions with others: the instance lock would then keep no second process out, and both would use the
 * same nonces. Call it before the lock is taken, which such a pooler would keep. Throws, too, if the database lacks what the service needs.
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
    await requireOwnConnection(one, other);
    await requireFeatures(one, other);
  } finally {
    await Promise.all([one, other].map(endConnection));
  }
}

async function requireOwnConnection(one: pg.Client, other: pg.Client): Promise<void> {
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
}

async function backendOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid ?? 0;
}

/** Throws if a database speaks PostgreSQL's protocol and lacks what keeps processes apart, or what lets instances hear of each other. */
async function requireFeatures(one: pg.Client, other: pg.Client): Promise<void> {
  // Of this start alone: another instance may start at the same moment.
  const name = `relayer_start_${randomUUID()}`;
  await requireFeature('advisory locks, shown by pg_locks', async () => {
    const isTrue = async (client: pg.Client, sql: string) =>
      (await client.query<{ is: boolean }>(`select ${sql} as is`, [instanceLock, name])).rows[0]?.is === true;
    const isTaken = await isTrue(one, 'pg_try_advisory_lock_shared($1, hashtext($2))');
    const isShown = await isTrue(other, `exists (select from pg_locks where ${isInstanceLock})`);
    const isFree = await isTrue(other, 'pg_try_advisory_lock($1, hashtext($2))');
    return isTaken && isShown && !isFree && (await isTrue(one, 'pg_advisory_unlock_shared($1, hashtext($2))'));
  });
  await requireFeature('notifications between connections (LISTEN, NOTIFY)', async () => {
    const heard = once(one, 'notification').then(() => true);
    await one.query(`listen ${pg.escapeIdentifier(name)}`);
    await other.query('select pg_notify($1, $2)', [name, '']);
    const isHeard = await inTime(heard, notificationMs, false);
    await one.query(`unlisten ${pg.escapeIdentifier(name)}`);
    return isHeard;
  });
}

/** Throws an error for the operator unless the feature works. */
async function requireFeature(feature: string, works: () => Promise<boolean>): Promise<void> {
  const lacking = (how: string, cause?: unknown) =>
    new Error(`the database lacks ${feature}: ${how}; the service needs PostgreSQL`, { cause });
  const isUsable = await works().catch((cause: unknown) => {
    // Anything else is a connection that was lost.
    if (cause instanceof pg.DatabaseError && lackingFeature.test(cause.code ?? '')) throw lacking(cause.message, cause);
    throw cause;
  });
  if (!isUsable) throw lacking('they have no effect');
}
