import type { Kysely } from 'kysely';
import type { Schema } from '../schema.js';
import { pick, statement } from '../statement.js';

/** The process that holds the instance lock. */
export interface Instance {
  readonly host: string;
  readonly pid: number;
  /** When the process took the lock, in milliseconds since the epoch. */
  readonly since_ms: number;
  /** Random; empty if the process has released the database. */
  readonly token: string;
}

/** Statements on the row that names the holder of the instance lock. */
export function instanceStatements(db: Kysely<Schema>) {
  return {
    record: statement<Instance & { number: number; checked_at_ms: number }, never>('instances_record', (values) =>
      db
        .insertInto('instances')
        .values(pick(values, ['number', 'host', 'pid', 'token', 'since_ms', 'checked_at_ms']))
        .onConflict((conflict) =>
          conflict.column('number').doUpdateSet((eb) => ({
            host: eb.ref('excluded.host'),
            pid: eb.ref('excluded.pid'),
            token: eb.ref('excluded.token'),
            since_ms: eb.ref('excluded.since_ms'),
            checked_at_ms: eb.ref('excluded.checked_at_ms'),
          })),
        ),
    ),

    touch: statement<{ number: number; checked_at_ms: number }, never>('instances_touch', (values) =>
      db.updateTable('instances').set({ checked_at_ms: values.checked_at_ms }).where('number', '=', values.number),
    ),

    confirmTime: statement<{ number: number; confirmed_time_ms: number }, never>('instances_confirm_time', (values) =>
      db.updateTable('instances').set({ confirmed_time_ms: values.confirmed_time_ms }).where('number', '=', values.number),
    ),

    confirmedTime: statement<{ number: number }, { confirmed_time_ms: number | null }>('instances_confirmed_time', (values) =>
      db.selectFrom('instances').select('confirmed_time_ms').where('number', '=', values.number),
    ),

    /** Finds the row as long as no other process has recorded itself. */
    fence: statement<{ number: number; token: string }, { number: number }>('instances_fence', ({ number, token }) =>
      db.selectFrom('instances').select('number').where('number', '=', number).where('token', '=', token),
    ),

    /** Affects the row as long as no other process has recorded itself, and names the batch that begins. */
    beginBatch: statement<{ number: number; token: string; batch: string }, never>('instances_begin_batch', ({ number, token, batch }) =>
      db.updateTable('instances').set({ batch }).where('number', '=', number).where('token', '=', token),
    ),

    /** Finds the last batch, as long as no other process has recorded itself. Writes, so that it waits until earlier writes are durable. */
    returnTo: statement<{ number: number; token: string; checked_at_ms: number }, { batch: string | null }>(
      'instances_return_to',
      ({ number, token, checked_at_ms }) =>
        db.updateTable('instances').set({ checked_at_ms }).where('number', '=', number).where('token', '=', token).returning('batch'),
    ),

    /** Removes the owner's token. Does nothing if another process has recorded itself. */
    release: statement<{ number: number; token: string }, never>('instances_release', ({ number, token }) =>
      db.updateTable('instances').set({ token: '' }).where('number', '=', number).where('token', '=', token),
    ),

    holder: statement<{ number: number }, Instance>('instances_holder', (values) =>
      db.selectFrom('instances').select(['host', 'pid', 'since_ms', 'token']).where('number', '=', values.number),
    ),
  };
}
