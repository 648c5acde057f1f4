import { invalidField } from '../errors/errors.js';
import type { SecretBox } from '../ports/secret-box.js';
import type { Notification, RetiredKey } from '../records/notification.js';
import type { Clock } from '../work/clock.js';

const secretPrefix = 'whsec_';
const maxKeyBytes = 8_192;
/** The recommended minimum for HMAC-SHA256 keys. Shorter ones are accepted with a warning. */
const recommendedLength = 32;
/** How long a previous key keeps signing, so that receivers have time to learn the new one. */
const cosigningMs = 24 * 60 * 60 * 1000;
/** Each signature costs 50 bytes of a header, and receivers limit headers. More rotations than this in a day are a mistake. */
const maxCosigning = 50;

/** Returns the purpose that a notification's signing keys are sealed for: they cannot be opened for another notification. */
export function signingKeyPurpose(notificationId: string): string {
  return `notification:${notificationId}`;
}

/** Checks a caller's signing key: any text of 1 to 8192 bytes in UTF-8. Throws `FIELD_INVALID`, and never echoes the key. */
export function checkSigningKey(key: string): void {
  const { length } = Buffer.from(key, 'utf8');
  if (length < 1 || length > maxKeyBytes)
    throw invalidField('signing_key', `must have 1 to ${maxKeyBytes} bytes in UTF-8; it has ${length}`);
}

/** Returns warnings about an accepted key; empty if there are none. */
export function signingKeyWarnings(key: string): string[] {
  const isShort = key.length < recommendedLength;
  const isMisspelt = key.startsWith(secretPrefix) && encodedSecretOf(key) === undefined;
  return [
    ...(isShort ? [`signing_key is shorter than ${recommendedLength} characters, which makes it easier to guess`] : []),
    ...(isMisspelt ? ['signing_key begins with whsec_, but base64 of 24 to 64 bytes does not follow; it is used as plain text'] : []),
  ];
}

/** Returns the bytes of a key for Standard Webhooks: the bytes that `whsec_` encodes, else the bytes of the text. */
export function secretFromSigningKey(key: string): Buffer {
  return encodedSecretOf(key) ?? Buffer.from(key, 'utf8');
}

/** Returns the 24 to 64 bytes that `whsec_` encodes, in canonical base64 only, because receivers' libraries disagree about other forms. */
function encodedSecretOf(key: string): Buffer | undefined {
  if (!key.startsWith(secretPrefix)) return undefined;
  const encoded = key.slice(secretPrefix.length);
  const secret = Buffer.from(encoded, 'base64');
  return secret.toString('base64') === encoded && secret.length >= 24 && secret.length <= 64 ? secret : undefined;
}

/** The dependencies of `rotateSigningKey`. */
export interface RotationDeps {
  readonly secretBox: SecretBox;
  readonly clock: Clock;
}

/** The signing keys of a notification. */
export type SigningKeys = Pick<Notification, 'sealedSigningKey' | 'retiredKeys'>;

/**
 * Returns a notification's keys after a new key is set. The previous key is retired and keeps signing for a while; a retired key that is
 * set again becomes the present one and is no longer retired. Setting the present key changes nothing. Null removes all keys, retired ones
 * too: a caller that removes the key wants no signatures.
 */
export function rotateSigningKey(
  { secretBox, clock }: RotationDeps,
  { id, ...stored }: SigningKeys & Pick<Notification, 'id'>,
  signingKey: string | null,
): SigningKeys {
  const { sealedSigningKey, retiredKeys } = stored;
  if (signingKey === null) return { sealedSigningKey: null, retiredKeys: [] };

  /** Undefined for a key sealed under another encryption key: it can no longer sign, and setting a new key must be possible. */
  function opened(sealed: string): string | undefined {
    try {
      return secretBox.open(sealed, signingKeyPurpose(id));
    } catch {
      return undefined;
    }
  }

  const present = sealedSigningKey === null ? undefined : opened(sealedSigningKey);
  if (present === signingKey) return { sealedSigningKey, retiredKeys };
  const nowMs = clock.nowMs();
  const retiredNow = sealedSigningKey === null || present === undefined ? [] : [{ sealedSigningKey, retiredAtMs: nowMs }];
  const others = [...retiredNow, ...retiredKeys].filter((retired) => {
    const text = opened(retired.sealedSigningKey);
    return text !== undefined && text !== signingKey;
  });
  return { sealedSigningKey: secretBox.seal(signingKey, signingKeyPurpose(id)), retiredKeys: cosigningKeys(others, nowMs) };
}

/** Returns the retired keys that still sign beside the present one, latest first: retired within the last 24 hours, at most 50. */
export function cosigningKeys(retiredKeys: readonly RetiredKey[], nowMs: number): readonly RetiredKey[] {
  return retiredKeys.filter(({ retiredAtMs }) => nowMs - retiredAtMs < cosigningMs).slice(0, maxCosigning);
}
