import { createHmac, randomBytes } from 'node:crypto';
import type { SecretBox } from '../ports/secret-box.js';
import { isConflict } from '../ports/store/change.js';
import type { DatabaseChanges, DatabaseReads } from '../ports/store/database.js';
import type { StoreFor } from '../ports/store/store.js';
import { decideAgain } from '../work/decide-again.js';

/** The purpose that the database's secret is sealed for. */
export const databaseSecretPurpose = 'database';
const secretBytes = 32;

/** The dependencies of opening the secret. */
export interface DatabaseSecretDeps {
  readonly store: StoreFor<Pick<DatabaseReads, 'databaseSecret'>, Pick<DatabaseChanges, 'insertDatabaseSecret'>>;
  readonly secretBox: Pick<SecretBox, 'open' | 'seal'>;
}

/**
 * Opens the secret of the database: random bytes that the first start makes and seals. It shows whether the encryption key is the
 * database's key before anything else is sealed with it. Returns null if the key does not open it.
 */
export function openDatabaseSecret(deps: DatabaseSecretDeps): Promise<Buffer | null> {
  // In a conflict, another instance was faster to make it.
  return decideAgain(() => openOrMake(deps), isConflict);
}

async function openOrMake({ store, secretBox }: DatabaseSecretDeps): Promise<Buffer | null> {
  const stored = await store.read.databaseSecret();
  if (stored !== undefined) {
    try {
      return Buffer.from(secretBox.open(stored, databaseSecretPurpose), 'base64');
    } catch {
      return null;
    }
  }
  const secret = randomBytes(secretBytes);
  await store.commit([store.change.insertDatabaseSecret(secretBox.seal(secret.toString('base64'), databaseSecretPurpose))]);
  return secret;
}

/**
 * Returns the key, in base64, that stored responses with a secret are sealed with. It comes from the secret of the database, because a
 * rotation of the encryption key keeps that secret: it need not seal the responses of a whole day again.
 */
export function storedResponseSealKey(databaseSecret: Buffer): string {
  return createHmac('sha256', databaseSecret).update('stored responses').digest('base64');
}

/**
 * Creates the digest that is the same only for equal requests, 64 hex digits. Without the secret, guesses cannot be tested against a
 * stolen database. A rotation of the encryption key keeps the secret, so fingerprints stay comparable.
 */
export function createFingerprint(databaseSecret: Buffer): (bytes: Uint8Array) => string {
  return (bytes) => createHmac('sha256', databaseSecret).update(bytes).digest('hex');
}
