import { urlPurpose } from '../notification/sealed-urls.js';
import { signingKeyPurpose } from '../notification/signing-key.js';
import type { SecretBox } from '../ports/secret-box.js';
import type { Change } from '../ports/store/change.js';
import type { DatabaseChanges, DatabaseReads } from '../ports/store/database.js';
import type { DefinitionChanges, DefinitionReads } from '../ports/store/definitions.js';
import type { NotificationChanges, NotificationReads } from '../ports/store/notifications.js';
import type { StoreFor } from '../ports/store/store.js';
import type { Definition } from '../records/definition.js';
import { databaseSecretPurpose } from './database-secret.js';

/** The dependencies of the rotation. Nothing else may use the store during the rotation. */
export interface RotationDeps {
  readonly store: StoreFor<DatabaseReads & DefinitionReads & NotificationReads, DatabaseChanges & DefinitionChanges & NotificationChanges>;
  readonly from: Pick<SecretBox, 'open'>;
  readonly to: Pick<SecretBox, 'open' | 'seal'>;
}

/** The result of a rotation. */
export type Rotation =
  | { readonly kind: 'rotated'; readonly secrets: number }
  /** The new key opens everything already. */
  | { readonly kind: 'done_before'; readonly secrets: number }
  /** The old key does not open the secrets of these owners (`notification hook`); nothing was written. */
  | { readonly kind: 'not_opened'; readonly owners: readonly string[] };

/** Sealed secrets of one owner. */
interface Sealed {
  /** Shown to people. */
  readonly owner: string;
  readonly texts: readonly { readonly text: string; readonly purpose: string }[];
  /** Returns the change that stores the secrets sealed again. */
  changeTo(texts: readonly string[]): Change;
}

const definitionKinds: readonly Definition['kind'][] = ['relayer', 'signer', 'network', 'plugin'];
/** Notifications read at a time. */
const pageSize = 100;

/**
 * Seals every stored secret under the new key, the database's own included, in one commit: either all of them or none.
 */
export async function rotateEncryptionKey({ store, from, to }: RotationDeps): Promise<Rotation> {
  const all = [...(await sealedDatabaseSecret(store)), ...(await sealedNotifications(store)), ...(await sealedDefinitions(store))];
  const secrets = all.reduce((sum, { texts }) => sum + texts.length, 0);
  const notOpened = all.filter(({ texts }) => !texts.every((text) => opens(from, text)));
  if (notOpened.length > 0) {
    const wasDone = all.every(({ texts }) => texts.every((text) => opens(to, text)));
    return wasDone ? { kind: 'done_before', secrets } : { kind: 'not_opened', owners: notOpened.map(({ owner }) => owner) };
  }
  const changes = all.map(({ texts, changeTo }) => changeTo(texts.map(({ text, purpose }) => to.seal(from.open(text, purpose), purpose))));
  await store.commit(changes);
  return { kind: 'rotated', secrets };
}

function opens(box: Pick<SecretBox, 'open'>, { text, purpose }: Sealed['texts'][number]): boolean {
  try {
    box.open(text, purpose);
    return true;
  } catch {
    return false;
  }
}

async function sealedDatabaseSecret({ read, change }: RotationDeps['store']): Promise<readonly Sealed[]> {
  const sealed = await read.databaseSecret();
  if (sealed === undefined) return [];
  const changeTo = ([text = sealed]: readonly string[]) => change.resealDatabaseSecret(text);
  return [{ owner: 'the database', texts: [{ text: sealed, purpose: databaseSecretPurpose }], changeTo }];
}

async function sealedNotifications({ read, change }: RotationDeps['store']): Promise<readonly Sealed[]> {
  const found: Sealed[] = [];
  for (let offset = 0; ; offset += pageSize) {
    const { items, total } = await read.notifications({ offset, limit: pageSize });
    for (const { id, revision, url, sealedSigningKey, retiredKeys } of items) {
      const keys = sealedSigningKey === null ? [] : [sealedSigningKey, ...retiredKeys.map((key) => key.sealedSigningKey)];
      const texts = [{ text: url, purpose: urlPurpose(id) }, ...keys.map((text) => ({ text, purpose: signingKeyPurpose(id) }))];
      found.push({
        owner: `notification ${id}`,
        texts,
        changeTo: ([sealedUrl = url, present, ...retired]) =>
          change.resealNotification({
            id,
            revision,
            url: sealedUrl,
            sealedSigningKey: present ?? null,
            retiredKeys: retiredKeys.map((key, index) => ({ ...key, sealedSigningKey: retired[index] ?? key.sealedSigningKey })),
          }),
      });
    }
    if (offset + pageSize >= total) return found;
  }
}

async function sealedDefinitions({ read, change }: RotationDeps['store']): Promise<readonly Sealed[]> {
  const definitions = await Promise.all(definitionKinds.map((kind) => read.definitions(kind)));
  return definitions.flat().flatMap((definition): readonly Sealed[] => {
    const { kind, id, sealed } = definition;
    if (sealed === null) return [];
    return [
      {
        owner: `${kind} ${id}`,
        texts: [{ text: sealed, purpose: `${kind}:${id}` }],
        changeTo: ([text = sealed]) => change.putDefinition({ ...definition, sealed: text }),
      },
    ];
  });
}
