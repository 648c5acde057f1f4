import type { Kysely, Selectable } from 'kysely';
import type { NotificationChanges, NotificationReads } from '../../core/ports/store/notifications.js';
import type { Notification } from '../../core/records/notification.js';
import { BoundChange, guarded, step } from '../sql/bound-change.js';
import { placeOf, type Walked } from '../sql/paging.js';
import { exactJson, json, recordMapping } from '../sql/record-mapping.js';
import type { NotificationTable, Schema } from '../sql/schema.js';
import { pick, type Query, statement } from '../sql/statement.js';
import type { eventStatements } from './events.js';

type NotificationRow = Omit<Selectable<NotificationTable>, 'seq'>;

/** How notifications are stored. */
const notificationMapping = recordMapping<Notification, NotificationRow>({
  id: 'id',
  type: 'type',
  url: 'url',
  sealedSigningKey: 'sealed_signing_key',
  retiredKeys: json('retired_keys'),
  goneAtMs: 'gone_at_ms',
  createdAtMs: 'created_at_ms',
  revision: 'revision',
  relayerIds: exactJson('relayer_ids'),
});

/** The newest rows before a `seq`. */
interface Part {
  readonly before: number;
  readonly limit: number;
}

/** Statements on notifications. */
export function notificationStatements(db: Kysely<Schema>) {
  const { columns } = notificationMapping;
  const newestOf = (values: Part) =>
    db.selectFrom('notifications').where('seq', '<', values.before).orderBy('seq', 'desc').limit(values.limit);
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

    /** Reads all at once: keys that are limited to relayers make them by hand, so they are few. */
    limited: statement<object, NotificationRow>('notifications_limited', () =>
      db.selectFrom('notifications').select(columns).where('relayer_ids', 'is not', null).orderBy('seq', 'desc'),
    ),

    page: statement<Part, NotificationRow>('notifications_page', (values) => newestOf(values).select(columns)),

    position: statement<{ id: string }, { seq: number }>('notifications_position', (values) =>
      db.selectFrom('notifications').select('seq').where('id', '=', values.id),
    ),

    /** Counts at most `limit` rows, and finds the oldest of them. Totals are counted this way each time. */
    walk: statement<Part, Walked>('notifications_walk', (values) =>
      db
        .selectFrom(newestOf(values).select('seq').as('walked'))
        .select((eb) => [eb.fn.countAll<number>().as('count'), eb.fn.min('seq').as('last')]),
    ),
  };
}

type Statements = ReturnType<typeof notificationStatements>;

/** Queries of notifications. */
export function notificationReads(notifications: Statements, query: Query): NotificationReads {
  return {
    notification: async (id) => (await query(notifications.byId, { id })).map(notificationMapping.fromRow)[0],
    limitedNotifications: async () => (await query(notifications.limited, {})).map(notificationMapping.fromRow),
    notifications: async (page) => {
      const walk = (part: Part) => query(notifications.walk, part);
      const list = { walk, positionOf: notifications.position, counted: Number.POSITIVE_INFINITY };
      const { length, before } = await placeOf(query, list, page);
      const rows = before === null ? [] : await query(notifications.page, { before, limit: page.limit });
      return { items: rows.map(notificationMapping.fromRow), ...length };
    },
  };
}

/** Changes of notifications. */
export function notificationChanges(
  notifications: Statements,
  events: Pick<ReturnType<typeof eventStatements>, 'deleteUndelivered'>,
): NotificationChanges {
  return {
    insertNotification: (notification) =>
      new BoundChange('insertNotification', [guarded(notifications.insert, notificationMapping.toRow(notification))]),
    updateNotification: (next) =>
      new BoundChange('updateNotification', [
        guarded(notifications.update, { ...notificationMapping.toRow(next), revision_before: next.revision - 1 }),
      ]),
    resealNotification: ({ id, revision, url, sealedSigningKey, retiredKeys }) =>
      new BoundChange('resealNotification', [
        guarded(notifications.reseal, {
          id,
          revision,
          url,
          sealed_signing_key: sealedSigningKey,
          retired_keys: JSON.stringify(retiredKeys),
        }),
      ]),
    markNotificationGone: ({ id, revision }, goneAtMs) =>
      new BoundChange('markNotificationGone', [step(notifications.markGone, { id, revision, gone_at_ms: goneAtMs })]),
    deleteNotification: ({ id, revision }) =>
      new BoundChange('deleteNotification', [
        guarded(notifications.delete, { id, revision }),
        step(events.deleteUndelivered, { notification_id: id }),
      ]),
  };
}
