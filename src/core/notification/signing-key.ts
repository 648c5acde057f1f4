import { invalidField } from '../errors.js';
import type { Clock } from '../ports/clock.js';
import type { SecretBox } from '../ports/secret-box.js';
import type { Notification, RetiredKey } from './notification.js';

const secretPrefix = 'whsec_';

/** What HMAC-SHA256 keys should have at least. Shorter ones are taken, with a warning. */
const unremarkableLength = 32;

/**
 * Checks a key that a caller set: 1 to 1024 printable ASCII characters; one that starts with `whsec_` goes on with base64 of 24 to 64 bytes, in
 * the one spelling that decodes and encodes to itself (receivers' libraries disagree about the others). Throws `FIELD_INVALID`, never echoing it.
 */
export function checkSigningKey(key: string): void {
  if (!/^[\x20-\x7e]{1,1024}$/.test(key)) throw invalidField('signing_key', 'must be 1 to 1024 printable ASCII characters');
  if (!key.startsWith(secretPrefix)) return;
  const encoded = key.slice(secretPrefix.length);
  const secret = Buffer.from(encoded, 'base64');
  if (secret.toString('base64') !== encoded || secret.length < 24 || secret.length > 64) {
    throw invalidField('signing_key', 'starts with whsec_, so it must go on with the base64 of 24 to 64 bytes');
  }
}

/** What a caller should know about a key that was taken; empty when there is nothing. */
export function signingKeyWarnings(key: string): string[] {
  if (key.length >= unremarkableLength) return [];
  return [`signing_key is shorter than ${unremarkableLength} characters, which makes it easier to guess`];
}

/** The bytes of a checked key for Standard Webhooks: what `whsec_` encodes, else the text's own. */
export function secretFromSigningKey(key: string): Buffer {
  return key.startsWith(secretPrefix) ? Buffer.from(key.slice(secretPrefix.length), 'base64') : Buffer.from(key, 'utf8');
}

/** What a notification's signing key is sealed for: it can be opened for no other notification. */
export function signingKeyPurpose(notificationId: string): string {
  return `notification:${notificationId}`;
}

/** What a change of key works with. */
export interface RotationDeps {
  readonly secretBox: SecretBox;
  readonly clock: Clock;
}

/** The part of a notification that its keys are. */
export type SigningKeys = Pick<Notification, 'sealedSigningKey' | 'retiredKeys'>;

/**
 * A notification's keys after it was given another. The one before is retired and signs on for a while; one that was retired and is given again is
 * the present one, and not retired as well. The key that it has already changes nothing. Null drops all, the retired ones too: who removes a key
 * wants no signatures.
 */
export function rotateSigningKey(
  { secretBox, clock }: RotationDeps,
  { id, ...stored }: SigningKeys & Pick<Notification, 'id'>,
  signingKey: string | null,
): SigningKeys {
  const { sealedSigningKey, retiredKeys } = stored;
  if (signingKey === null) return { sealedSigningKey: null, retiredKeys: [] };

  /** Undefined for a key that was sealed under another encryption key: it signs nothing any more, and setting a new one must be possible. */
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

/** How long receivers have to learn of a new key. */
const cosigningMs = 24 * 60 * 60 * 1000;
/** Each costs 50 bytes of a header, and receivers bound those; nobody replaces a key so often by intent. */
const maxCosigning = 50;

/** The retired keys that still sign beside the present one, the latest first: those of the last 24 hours, of which there are at most 50. */
export function cosigningKeys(retiredKeys: readonly RetiredKey[], nowMs: number): readonly RetiredKey[] {
  return retiredKeys.filter(({ retiredAtMs }) => nowMs - retiredAtMs < cosigningMs).slice(0, maxCosigning);
}
