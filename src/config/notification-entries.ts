import { z } from 'zod';
import { DomainError } from '../core/errors.js';
import { checkSigningKey } from '../core/notification/signing-key.js';
import { checkWebhookTarget } from '../core/notification/webhook-target.js';
import type { Environment } from './environment.js';
import { id } from './field-schemas.js';
import { declaredNames, type FileEntry } from './file-entries.js';
import type { Problem } from './problem.js';
import { readBySchema } from './schema-problems.js';
import { resolveSecret, secretReference } from './secret-reference.js';

/** A webhook target of the file. */
export interface NotificationEntry {
  readonly id: string;
  readonly url: string;
  /** Secret; null: deliveries are not signed. */
  readonly signingKey: string | null;
}

const notificationSchema = z.strictObject({
  id,
  type: z.literal('webhook'),
  url: z.string(),
  signing_key: secretReference.nullish(),
});

/**
 * Reads the webhook targets, by the API's rules for URLs and signing keys. `declared`: the ids of all of them, valid or not. Problems go on
 * the list.
 */
export function notificationEntries(
  entries: readonly FileEntry[],
  env: Environment,
  problems: Problem[],
): { readonly notifications: readonly NotificationEntry[]; readonly declared: ReadonlySet<string> } {
  const declared = declaredNames(entries, 'id', problems);
  const notifications = entries.flatMap((entry) => {
    const notification = notificationFromEntry(entry, env, problems);
    return notification === undefined ? [] : [notification];
  });
  return { notifications, declared };
}

function notificationFromEntry({ value, path }: FileEntry, env: Environment, problems: Problem[]): NotificationEntry | undefined {
  const fields = readBySchema(notificationSchema, value, path, problems);
  if (fields === undefined) return undefined;
  const { id, url, signing_key: reference } = fields;
  const keyPath = `${path}.signing_key`;
  const signingKey = reference ? resolveSecret(reference, keyPath, env, problems) : null;
  const allowPrivateTargets = env.WEBHOOK_ALLOW_PRIVATE === 'true';
  const problem = ruleProblem(() => checkWebhookTarget(url, allowPrivateTargets));
  if (problem !== undefined) problems.push({ path: `${path}.url`, problem });
  if (signingKey === undefined) return undefined;
  const keyProblem = signingKey === null ? undefined : ruleProblem(() => checkSigningKey(signingKey));
  if (keyProblem !== undefined) problems.push({ path: `${keyPath}.value`, problem: keyProblem });
  return { id, url, signingKey };
}

/** What a rule of the domain says about its field. */
function ruleProblem(check: () => void): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (error instanceof DomainError) return error.fields[0]?.description ?? error.message;
    throw error;
  }
}
