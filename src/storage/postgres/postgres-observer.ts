import pg from 'pg';
import type { SharedDatabase } from '../../core/ports/shared-database.js';
import { payloadOf, readMessage } from './news-channel.js';
import { readConditions, readMembers, readServer } from './postgres-instances.js';
import { endHolder, nameConnection } from './postgres-lock.js';
import { connect, connectionOptions, endConnection } from './postgres-writer.js';

/** A look, or a notification, that is not answered for this long was lost with its connection. */
const answerTimeoutMs = 3_000;

/** Creates a function that opens the observers of an instance. `name`: the name of their connections. */
export function postgresObserver(connectionString: string, schema: string, name: string | undefined): SharedDatabase['openObserver'] {
  const channel = `relayer_${schema}`;
  return async (onMessage) => {
    const client = new pg.Client({
      ...connectionOptions(connectionString),
      connectionTimeoutMillis: answerTimeoutMs,
      query_timeout: answerTimeoutMs,
    });
    const close = () => endConnection(client).catch(() => undefined);
    // The next look reports a broken connection. Without a listener, its error would end the process.
    client.on('error', () => undefined);
    client.on('notification', ({ payload = '' }) => onMessage(readMessage(payload)));
    try {
      await connect(client);
      if (name !== undefined) await nameConnection(client, name);
      // A message is not worth waiting for a disk: an instance that connects later looks at everything.
      await client.query(`set synchronous_commit = off`);
      await client.query(`listen ${pg.escapeIdentifier(channel)}`);
    } catch (error) {
      await close();
      throw error;
    }
    return {
      async look() {
        // The time comes first: its answer must not wait for another query.
        const server = await readServer(client);
        return { ...server, members: await readMembers(client, schema) };
      },
      conditions: () => readConditions(client),
      end: (backend) => endHolder(client, schema, backend),
      async tell(message) {
        await client.query('select pg_notify($1, $2)', [channel, payloadOf(message)]);
      },
      close,
    };
  };
}
