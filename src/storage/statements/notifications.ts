import type { Kysely, Selectable } from 'kysely';
import type { Notification } from '../../core/notification/notification.js';
import { json, recordMapping } from '../record-mapping.js';
import type { NotificationTable, Schema } from '../schema.js';
import { pick, seqBefore, statement } from '../statement.js';

type NotificationRow = Omit<Selectable<NotificationTable>, 'seq'>;

/** How notifications are stored. */
export const notificationMapping = recordMapping<Notification, NotificationRow>({
  id: 'id',
  type: 'type',
  url: 'url',
  sealedSigningKey: 'sealed_signing_key',
  retiredKeys: json('retired_keys'),
  goneAtMs: 'gone_at_ms',
  createdAtMs: 'created_at_ms',
  revision: 'revision',
});

/** Statements on notifications. */
export function notificationStatements(db: Kysely<Schema>) {
  const { columns } = notificationMapping;
  return {
    insert: statement<NotificationRow, never>('notifications_insert', (values) =>
      db.insertInto('notifications').values(pick(values, columns)),
    ),

    update: statement<NotificationRow & { revision_before: number }, never>('notifications_update', (values) =>
      db
        .updateTable('notifications')
        .set(pick(values, ['type', 'url', 'sealed_signing_key', 'retired_keys', 'gone_at_ms', 'revision']))
        .where('id', '=', values.id)
        .where('revision', '=', values.revision_before),
    ),

    reseal: statement<Pick<NotificationRow, 'id' | 'revision' | 'url' | 'sealed_signing_key' | 'retired_keys'>, never>(
      'notifications_reseal',
      (values) =>
        db
          .updateTable('notifications')
          .set(pick(values, ['url', 'sealed_signing_key', 'retired_keys']))
          .where('id', '=', values.id)
          .where('revision', '=', values.revision),
    ),

    markGone: statement<{ id: string; revision: number; gone_at_ms: number }, never>('notifications_mark_gone', (values) =>
      db
        .updateTable('notifications')
        .set(pick(values, ['gone_at_ms']))
        .where('id', '=', values.id)
        .where('revision', '=', values.revision),
    ),

    delete: statement<{ id: string; revision: number }, never>('notifications_delete', (values) =>
      db.deleteFrom('notifications').where('id', '=', values.id).where('revision', '=', values.revision),
    ),

    byId: statement<{ id: string }, NotificationRow>('notifications_by_id', (values) =>
      db.selectFrom('notifications').select(columns).where('id', '=', values.id),
    ),

    page: statement<{ limit: number; offset: number; after: string }, NotificationRow>('notifications_page', (values) =>
      db
        .selectFrom('notifications')
        .select(columns)
        .where('seq', '<', seqBefore('notifications', values.after))
        .orderBy('seq', 'desc')
        .limit(values.limit)
        .offset(values.offset),
    ),

    /** Counts each time: operators make notifications by hand, so they are few. */
    total: statement<object, { total: number }>('notifications_total', () =>
      db.selectFrom('notifications').select((eb) => eb.fn.countAll<number>().as('total')),
    ),
  };
}
