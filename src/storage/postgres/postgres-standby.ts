import pg from 'pg';
import type { Log } from '../../core/ports/log.js';
import { pause } from '../../core/repeat.js';
import { DatabaseLockedError } from '../database-locked-error.js';
import { StandbyEndedError } from '../standby-ended-error.js';
import type { Instance } from '../statements/instances.js';
import { createHolderWatch } from './holder-watch.js';
import {
  type Backend,
  endHolder,
  findHolder,
  type LockedWriter,
  nameConnection,
  readInstance,
  schemaOf,
  standbyLock,
  takePostgresLock,
} from './postgres-lock.js';
import { connect, connectionOptions, endConnection } from './postgres-writer.js';

const lookEveryMs = 100;
const connectTimeoutMs = 3_000;

/** How to wait for a database that another process uses. */
export interface StandbyOptions {
  /** Ends the wait. */
  readonly signal: AbortSignal;
  /** Called once, if another process uses the database. */
  readonly onWait: (holder: Instance | undefined) => void;
}

/**
 * Takes the instance lock as soon as its holder has released it, is gone, or is silent. A silent holder loses its connection first, so it can commit nothing
 * more, and finds the new owner when it connects again. Throws StandbyEndedError.
 */
export async function waitForPostgresLock(
  connectionString: string,
  { signal, onWait, log, name }: StandbyOptions & { readonly log: Log; readonly name: string | undefined },
): Promise<LockedWriter> {
  const watch = createHolderWatch();
  let observer: Observer | null = null;
  let hasWaited = false;
  let logged = '';

  /** Returns the lock if it is ours now. */
  async function look({ client, schema }: Observer): Promise<LockedWriter | null> {
    const holder = await findHolder(client, schema);
    const instance = await readInstance(client);
    const verdict = watch.look({ holder, isReleased: instance === undefined || instance.token === '' });
    if (verdict === 'take') return takePostgresLock(connectionString, { connectTimeoutMs, name });
    if (!hasWaited) onWait(instance);
    hasWaited = true;
    if (verdict === 'end' && holder !== null) await endSilent(client, schema, holder);
    return null;
  }

  async function endSilent(client: pg.Client, schema: string, holder: Backend): Promise<void> {
    log.warn({ backend: holder.pid }, 'the instance that uses the database is silent; ending its connection');
    await endHolder(client, schema, holder);
  }

  try {
    while (!signal.aborted) {
      try {
        observer ??= await connectObserver(connectionString, name);
        const locked = await look(observer);
        logged = '';
        if (locked !== null) return locked;
      } catch (error) {
        // Another process was faster.
        if (!(error instanceof DatabaseLockedError)) {
          const message = error instanceof Error ? error.message : String(error);
          if (message !== logged) log.warn({ err: error }, 'the standby cannot query the database; retrying');
          logged = message;
          if (observer !== null) await endQuietly(observer.client);
          observer = null;
        }
        watch.forget();
      }
      await pause(lookEveryMs, signal);
    }
  } finally {
    if (observer !== null) await endQuietly(observer.client);
  }
  throw new StandbyEndedError();
}

/** A connection that looks at the holder of the lock of a schema. */
interface Observer {
  readonly client: pg.Client;
  readonly schema: string;
}

async function connectObserver(connectionString: string, name: string | undefined): Promise<Observer> {
  const client = new pg.Client({ ...connectionOptions(connectionString), connectionTimeoutMillis: connectTimeoutMs });
  // The next look reports a broken connection. Without a listener, its error would end the process.
  client.on('error', () => undefined);
  try {
    await connect(client);
    const schema = await schemaOf(client);
    if (name !== undefined) await nameConnection(client, name);
    await client.query('select pg_advisory_lock_shared($1, hashtext($2))', [standbyLock, schema]);
    return { client, schema };
  } catch (error) {
    await endQuietly(client);
    throw error;
  }
}

async function endQuietly(client: pg.Client): Promise<void> {
  await endConnection(client).catch(() => undefined);
}
