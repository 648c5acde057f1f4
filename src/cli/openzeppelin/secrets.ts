import { createDecipheriv } from 'node:crypto';

const nonceBytes = 12;
const tagBytes = 16;

/** An encrypted secret as OpenZeppelin Relayer stores it. */
interface Encrypted {
  readonly nonce: Buffer;
  /** With the tag at its end. */
  readonly ciphertext: Buffer;
  /** 2: bound to the Redis key of its record. */
  readonly version: 1 | 2;
}

/**
 * Returns the plain text of a secret in a record of OpenZeppelin Relayer; undefined if the key does not decrypt it. OpenZeppelin Relayer
 * then uses the ciphertext itself as the secret.
 *
 * A secret is base64 of JSON: an encrypted one is an object, one that was stored without an encryption key is a string. Versions before 1.1
 * stored plain text.
 */
export function openedSecret(stored: string, recordKey: string, encryptionKey: Buffer): string | undefined {
  const value = jsonInBase64(stored);
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return stored;
  const encrypted = encryptedFrom(value as Readonly<Record<string, unknown>>);
  return encrypted && decrypted(encrypted, recordKey, encryptionKey);
}

function jsonInBase64(text: string): unknown {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') !== text) return undefined;
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

function encryptedFrom({ nonce, ciphertext, version }: Readonly<Record<string, unknown>>): Encrypted | undefined {
  if (typeof nonce !== 'string' || typeof ciphertext !== 'string' || (version !== 1 && version !== 2)) return undefined;
  const parts = { nonce: Buffer.from(nonce, 'base64'), ciphertext: Buffer.from(ciphertext, 'base64'), version } as const;
  return parts.nonce.length === nonceBytes && parts.ciphertext.length >= tagBytes ? parts : undefined;
}

function decrypted({ nonce, ciphertext, version }: Encrypted, recordKey: string, encryptionKey: Buffer): string | undefined {
  const decipher = createDecipheriv('aes-256-gcm', encryptionKey, nonce, { authTagLength: tagBytes });
  if (version === 2) decipher.setAAD(Buffer.from(recordKey, 'utf8'));
  decipher.setAuthTag(ciphertext.subarray(-tagBytes));
  try {
    return decipher.update(ciphertext.subarray(0, -tagBytes), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    return undefined;
  }
}
