import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { type Delivery, DeliverySchema, DeliveryStatus } from '../../../../gen/relayer/v1/notification_service_pb.js';
import type { DeliveryRecord } from '../../../core/notification/notification.js';

const statuses = { pending: DeliveryStatus.PENDING, delivered: DeliveryStatus.DELIVERED, dead: DeliveryStatus.DEAD } as const;

/** The message that tells of a delivery and its tries. */
export function protoOfDelivery({ event, attempts }: DeliveryRecord): Delivery {
  return create(DeliverySchema, {
    id: event.id,
    event: event.event,
    status: statuses[event.status],
    createdAt: timestampFromMs(event.createdAtMs),
    ...(event.status === 'pending' ? { nextAttemptAt: timestampFromMs(event.nextAttemptAtMs) } : {}),
    attempts: attempts.map(({ attemptedAtMs, durationMs, httpStatus, error, responseBody }) => ({
      attemptedAt: timestampFromMs(attemptedAtMs),
      durationMs,
      ...(httpStatus === null ? {} : { httpStatus }),
      ...(error === null ? {} : { error }),
      ...(responseBody === null ? {} : { responseBody }),
    })),
  });
}
