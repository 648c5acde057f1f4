import type { Clock } from '../ports/clock.js';
import type { SecretBox } from '../ports/secret-box.js';
import { cosigningKeys } from './cosigning-keys.js';
import type { Notification } from './notification.js';
import { signingKeyPurpose } from './signing-key-purpose.js';

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
