import { CreateNotificationRequestSchema } from '../../gen/relayer/v1/notification_service_pb.js';
import { checkSigningKey, signingKeyWarnings } from '../core/notification/signing-key.js';
import { checkWebhookTarget } from '../core/notification/webhook-target.js';
import { entryIdFromText } from '../core/text/entry-id.js';
import type { Environment } from './environment.js';
import { codecOf, declaredNames, type FileEntry, objectOf, readMessage, requireMembers } from './file-entries.js';
import type { Problems } from './problem.js';
import { resolveSecret } from './secret-reference.js';

/** A webhook target of the file. */
export interface NotificationEntry {
  readonly id: string;
  readonly url: string;
  /** Secret; null: deliveries are not signed. */
  readonly signingKey: string | null;
}

/** The webhook targets of the file. */
export interface NotificationEntries {
  readonly notifications: readonly NotificationEntry[];
  /** The ids of all entries, valid or not. */
  readonly declared: ReadonlySet<string>;
}

const codec = codecOf(CreateNotificationRequestSchema);

/** Reads the webhook targets by the API's rules. An entry is a CreateNotification request whose signing key is a reference. */
export function notificationEntries(entries: readonly FileEntry[], env: Environment, problems: Problems): NotificationEntries {
  const declared = declaredNames(entries, 'id', problems);
  const notifications = entries.flatMap((entry) => {
    const notification = notificationFromEntry(entry, env, problems);
    if (notification === undefined) return [];
    const warnings = notification.signingKey === null ? [] : signingKeyWarnings(notification.signingKey);
    problems.notices.push(...warnings.map((warning) => `${entry.path}.${warning}`));
    return [notification];
  });
  return { notifications, declared };
}

function notificationFromEntry(entry: FileEntry, env: Environment, problems: Problems): NotificationEntry | undefined {
  const { path } = entry;
  const written = objectOf(entry, problems);
  if (written === undefined) return undefined;
  const object = new Map(written);
  const reference = object.get('signing_key') ?? null;
  if (reference !== null) object.set('signing_key', resolveSecret(reference, `${path}.signing_key`, env, problems) ?? null);
  const { id, url, signingKey = '' } = readMessage(codec, object, path, problems);
  requireMembers(object, ['id'], path, problems);
  problems.check(path, () => entryIdFromText(id ?? ''));
  problems.check(path, () => checkWebhookTarget(url, env.WEBHOOK_ALLOW_PRIVATE === 'true'));
  if (signingKey !== '') problems.check(path, () => checkSigningKey(signingKey));
  return problems.has(path) || id === undefined ? undefined : { id, url, signingKey: signingKey || null };
}
