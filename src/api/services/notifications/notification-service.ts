import { create } from '@bufbuild/protobuf';
import { durationFromMs, timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import {
  type Delivery,
  DeliverySchema,
  DeliveryStatus,
  EventType,
  type Notification as NotificationMessage,
  NotificationSchema,
  NotificationService,
  NotificationType,
  type UpdateNotificationRequest,
  UpdateNotificationRequestSchema,
} from '../../../../gen/relayer/v1/notification_service_pb.js';
import { maskedPaths } from '../../../codec/update-mask.js';
import { invalidField } from '../../../core/errors/errors.js';
import {
  getDelivery,
  isOfTransaction,
  listDeliveries,
  redeliverDelivery,
  testNotification,
} from '../../../core/notification/deliveries.js';
import {
  createNotification,
  deleteNotification,
  getNotification,
  listNotifications,
  type NotificationChange,
  type NotificationDeps,
  type NotificationWritten,
  updateNotification,
} from '../../../core/notification/notifications.js';
import { ownedNotifications, relayersFor } from '../../../core/notification/owned-notifications.js';
import type { TestLimit } from '../../../core/notification/test-limit.js';
import type { NotificationChanges, NotificationReads } from '../../../core/ports/store/notifications.js';
import type { OutboxChanges, OutboxReads } from '../../../core/ports/store/outbox.js';
import type { StoreFor } from '../../../core/ports/store/store.js';
import type { DeliveryRecord, Notification, OutboxEvent } from '../../../core/records/notification.js';
import { maskedUrl } from '../../../core/text/masked-url.js';
import { type Call, callOf, principalOf } from '../../contract/call.js';
import { replayable } from '../../contract/stored-response.js';
import { type Listing, listAnswer, pageOf, pageTokenInvalid } from '../shared/list-page.js';
import { present } from '../shared/present.js';

/** The dependencies of the service. */
export interface NotificationServiceDeps extends NotificationDeps {
  readonly store: StoreFor<NotificationReads & OutboxReads, NotificationChanges & OutboxChanges>;
  readonly limitTests: TestLimit;
}

/** Implements `relayer.v1.NotificationService`. */
export function createNotificationService(deps: NotificationServiceDeps): ServiceImpl<typeof NotificationService> {
  /** To a key that is limited to relayers, the notifications of others do not exist. */
  const depsFor = (context: HandlerContext): NotificationServiceDeps => {
    const { relayers } = principalOf(context);
    return relayers === null
      ? deps
      : { ...deps, store: { ...deps.store, read: { ...deps.store.read, ...ownedNotifications(deps.store.read, { relayers }) } } };
  };
  return {
    createNotification: replayable(
      NotificationService.method.createNotification,
      async ({ id, signingKey, type, url, relayerIds }, context, saveResponse) => {
        checkType(type);
        const { notification } = await createNotification(
          deps,
          { id, signingKey, url, relayerIds: relayersFor(principalOf(context), relayerIds) },
          (written) => {
            // Warns, also if no response is stored.
            const answer = answerOf(written, callOf(context));
            return saveResponse(() => answer);
          },
        );
        return { notification: messageOf(notification) };
      },
    ),
    async updateNotification(request, context) {
      checkType(request.type);
      const { signingKey, url } = changesOf(request);
      const changed = [...(url === undefined ? [] : ['url']), ...(signingKey === undefined ? [] : ['signing_key'])];
      callOf(context).auditFacts.changed = changed.join(' ');
      return answerOf(await updateNotification(depsFor(context), { id: request.notificationId, signingKey, url }), callOf(context));
    },
    async getNotification({ notificationId }, context) {
      return { notification: messageOf(await getNotification(depsFor(context), notificationId)) };
    },
    async listNotifications(request, context) {
      const page = pageOf(request, callOf(context));
      const { after } = page.query;
      if (after !== undefined && (await depsFor(context).store.read.notification(after)) === undefined) throw pageTokenInvalid();
      const found = await listNotifications(depsFor(context), page.query);
      const { records: notifications, ...rest } = listAnswer(page, found, listing, callOf(context));
      return { notifications, ...rest };
    },
    async deleteNotification({ notificationId }, context) {
      await deleteNotification(depsFor(context), notificationId);
      return {};
    },
    async listDeliveries({ notificationId, transactionId, ...request }, context) {
      const page = pageOf(request, callOf(context));
      const { after } = page.query;
      const last = after === undefined ? undefined : await depsFor(context).store.read.delivery(notificationId, after);
      const isInList = last !== undefined && (transactionId === undefined || isOfTransaction(last, transactionId));
      if (after !== undefined && !isInList) throw pageTokenInvalid();
      const found = await listDeliveries(depsFor(context), notificationId, page.query, transactionId);
      const { records: deliveries, ...rest } = listAnswer(page, found, deliveryListing, callOf(context));
      return { deliveries, ...rest };
    },
    async getDelivery({ notificationId, deliveryId }, context) {
      const delivery = await getDelivery(depsFor(context), notificationId, deliveryId);
      return { delivery: { ...protoOfDelivery(delivery), body: delivery.event.body } };
    },
    async redeliverDelivery({ notificationId, deliveryId }, context) {
      const { delivery, warnings } = await redeliverDelivery(depsFor(context), notificationId, deliveryId);
      warn(callOf(context), warnings);
      return { delivery: protoOfDelivery(delivery) };
    },
    async testNotification({ notificationId }, context) {
      const { delivery, warnings } = await testNotification(depsFor(context), notificationId);
      warn(callOf(context), warnings);
      return { delivery: protoOfDelivery(delivery) };
    },
  };
}

/** Returns the changes of a request: the paths of its mask, or without a mask the fields that are set. */
function changesOf({ signingKey, url, updateMask }: UpdateNotificationRequest): Omit<NotificationChange, 'id'> {
  const paths = maskedPaths(UpdateNotificationRequestSchema, updateMask, ['signing_key', 'url', 'type']);
  if (paths === undefined) return { signingKey, url };
  if (paths.includes('url') && url === undefined) throw invalidField('url', 'cannot be removed');
  // The empty key removes it.
  return { signingKey: paths.includes('signing_key') ? (signingKey ?? '') : undefined, url: paths.includes('url') ? url : undefined };
}

const listing: Listing<Notification, NotificationMessage> = { desc: NotificationSchema, record: messageOf, idOf: ({ id }) => id };
const deliveryListing: Listing<DeliveryRecord, Delivery> = { desc: DeliverySchema, record: protoOfDelivery, idOf: ({ id }) => id };

/** Rejects unknown numbers, which an enum over RPC may hold. */
function checkType(type: NotificationType): void {
  if (type !== NotificationType.UNSPECIFIED && type !== NotificationType.WEBHOOK) throw invalidField('type', 'must be webhook');
}

function answerOf({ notification, warnings }: NotificationWritten, call: Call): { notification: NotificationMessage } {
  warn(call, warnings);
  return { notification: messageOf(notification) };
}

function warn(call: Call, warnings: readonly string[]): void {
  for (const message of warnings) call.warnings.push({ level: 'warn', message });
}

function messageOf({ id, url, sealedSigningKey, relayerIds }: Notification): NotificationMessage {
  return create(NotificationSchema, {
    id,
    type: NotificationType.WEBHOOK,
    url: maskedUrl(url),
    hasSigningKey: sealedSigningKey !== null,
    relayerIds: [...(relayerIds ?? [])],
  });
}

const deliveryStatuses = { pending: DeliveryStatus.PENDING, delivered: DeliveryStatus.DELIVERED, dead: DeliveryStatus.DEAD } as const;

const eventTypes: Readonly<Record<OutboxEvent['event'], EventType>> = {
  transaction_update: EventType.TRANSACTION_UPDATE,
  transaction_delayed: EventType.TRANSACTION_DELAYED,
  approval_required: EventType.APPROVAL_REQUIRED,
  relayer_state_update: EventType.RELAYER_STATE_UPDATE,
  test: EventType.TEST,
};

/** The record of a delivery and its attempts. */
function protoOfDelivery({ event, attempts }: DeliveryRecord): Delivery {
  return create(DeliverySchema, {
    id: event.id,
    event: eventTypes[event.event],
    status: deliveryStatuses[event.status],
    createdAt: timestampFromMs(event.createdAtMs),
    ...(event.status === 'pending' ? { nextAttemptAt: timestampFromMs(event.nextAttemptAtMs) } : {}),
    attempts: attempts.map(({ attemptedAtMs, durationMs, httpStatus, error, responseBody }) => ({
      attemptedAt: timestampFromMs(attemptedAtMs),
      duration: durationFromMs(durationMs),
      ...present('httpStatus', httpStatus),
      ...present('error', error),
      ...present('responseBody', responseBody),
    })),
  });
}
