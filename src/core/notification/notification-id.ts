import { DomainError, invalidField } from '../errors.js';
import { shownName } from '../shown-name.js';

const pattern = /^[A-Za-z0-9_-]{1,36}$/;

/** True for what can be a notification's id: 1 to 36 of `A-Z a-z 0-9 _ -`. Anything else names no notification, and need not be looked up. */
export function isNotificationId(text: string): boolean {
  return pattern.test(text);
}

/** The id that a caller chose for a new notification. Throws `FIELD_INVALID`. */
export function notificationIdFromText(text: string): string {
  if (!isNotificationId(text)) throw invalidField('id', 'must be 1 to 36 of the characters A-Z, a-z, 0-9, _ and -');
  return text;
}

/** The 404 for an id that names no notification. */
export function notificationNotFound(id: string): DomainError {
  return new DomainError('not_found', 'NOTIFICATION_NOT_FOUND', `Notification with ID ${shownName(id)} not found`, {
    fixedText: 'Notification not found',
  });
}
