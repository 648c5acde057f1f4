import { create } from '@bufbuild/protobuf';
import type { ServiceImpl } from '@connectrpc/connect';
import {
  type Notification as NotificationMessage,
  NotificationSchema,
  type NotificationService,
  NotificationType,
} from '../../../gen/relayer/v1/notification_service_pb.js';
import { invalidField } from '../../core/errors.js';
import { type CreateNotificationDeps, createNotification, type NotificationWritten } from '../../core/notification/create-notification.js';
import { type DeleteNotificationDeps, deleteNotification } from '../../core/notification/delete-notification.js';
import { getNotification } from '../../core/notification/get-notification.js';
import { listNotifications } from '../../core/notification/list-notifications.js';
import type { Notification } from '../../core/notification/notification.js';
import { updateNotification } from '../../core/notification/update-notification.js';
import { type Call, callOf } from '../call.js';
import { pageOf, paginationOf } from '../mappers/page.js';

/** What the notification service works with. */
export type NotificationServiceDeps = CreateNotificationDeps & DeleteNotificationDeps;

/** Serves `relayer.v1.NotificationService`; the methods about past deliveries are not served. */
export function createNotificationService(deps: NotificationServiceDeps): Partial<ServiceImpl<typeof NotificationService>> {
  return {
    async createNotification({ id, signingKey, type, url }, context) {
      checkType(type);
      return answerOf(await createNotification(deps, { id, signingKey, url }), callOf(context));
    },
    async updateNotification({ notificationId, signingKey, type, url }, context) {
      checkType(type);
      return answerOf(await updateNotification(deps, { id: notificationId, signingKey, url }), callOf(context));
    },
    async getNotification({ notificationId }) {
      return { notification: messageOf(await getNotification(deps, notificationId)) };
    },
    async listNotifications(request, context) {
      const page = pageOf(request, callOf(context));
      const found = await listNotifications(deps, page.query);
      return { notifications: found.items.map(messageOf), pagination: paginationOf(page, found) };
    },
    async deleteNotification({ notificationId }) {
      await deleteNotification(deps, notificationId);
      return {};
    },
  };
}

/** Over RPC an enum may hold numbers that no one has named. */
function checkType(type: NotificationType): void {
  if (type !== NotificationType.UNSPECIFIED && type !== NotificationType.WEBHOOK) throw invalidField('type', 'must be webhook');
}

function answerOf({ notification, remarks }: NotificationWritten, call: Call): { notification: NotificationMessage } {
  for (const message of remarks) call.remarks.push({ level: 'warn', message });
  return { notification: messageOf(notification) };
}

function messageOf({ id, url, sealedSigningKey }: Notification): NotificationMessage {
  return create(NotificationSchema, { id, type: NotificationType.WEBHOOK, url, hasSigningKey: sealedSigningKey !== null });
}
