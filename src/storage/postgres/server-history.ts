import pg from 'pg';
import { waitsForEach } from './standbys.js';

/** What of a server decides whether its commits can get lost. */
export interface ServerHistory {
  /** A promoted standby begins a new one; null: the server does not say. */
  readonly timeline: number | null;
  /** See `Member.isSynchronous`. */
  readonly isSynchronous: boolean;
  /** Which cluster it is: a new one, as pg_upgrade makes it, begins its own timelines. Null: the server does not say. */
  readonly cluster: string | null;
}

/** Reads it. */
export async function historyOf(client: pg.Client): Promise<ServerHistory> {
  const { rows: settings } = await client.query<{ names: string }>(`select current_setting('synchronous_standby_names') as names`);
  // The control file would show a new timeline only after the first checkpoint. A managed server may refuse the functions of its log: its
  // failovers are not seen then, but each instance still finds what it lost itself.
  const timeline = await ifAllowed<number>(client, `('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int`);
  const cluster = await ifAllowed<string>(client, '(select system_identifier::text from pg_control_system())');
  return { timeline, isSynchronous: waitsForEach(settings[0]?.names ?? ''), cluster };
}

/** Reads a value; null: the server refuses. */
async function ifAllowed<T>(client: pg.Client, expression: string): Promise<T | null> {
  try {
    const { rows } = await client.query<{ value: T }>(`select ${expression} as value`);
    return rows[0]?.value ?? null;
  } catch (error) {
    if (error instanceof pg.DatabaseError) return null;
    throw error;
  }
}
