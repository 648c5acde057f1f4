import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { SecretBox } from '../core/ports/secret-box.js';

const algorithm = 'aes-256-gcm';
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
/** Names the format, so that a later algorithm can leave old secrets readable. */
const prefix = 'v1.';

/** Decodes the key. Accepts canonical base64 only; the error never contains the text. */
function keyFromBase64(keyBase64: string): Buffer {
  const key = Buffer.from(keyBase64, 'base64');
  if (key.length !== keyBytes || key.toString('base64') !== keyBase64) {
    throw new Error(
      `the storage encryption key must be ${keyBytes} bytes in base64 (44 characters, as \`openssl rand -base64 32\` prints)`,
    );
  }
  return key;
}

/**
 * Makes a box that seals with AES-256-GCM under one key: `v1.` and the base64url of nonce (12 random bytes), cipher text and tag (16
 * bytes). It authenticates the purpose too. Throws if the key is not base64 of exactly 32 bytes.
 */
export function createSecretBox(keyBase64: string): SecretBox {
  const key = keyFromBase64(keyBase64);

  function seal(plainText: string, purpose: string): string {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: tagBytes }).setAAD(Buffer.from(purpose));
    const cipherText = Buffer.concat([cipher.update(plainText, 'utf8'), cipher.final()]);
    return prefix + Buffer.concat([nonce, cipherText, cipher.getAuthTag()]).toString('base64url');
  }

  function open(sealed: string, purpose: string): string {
    const encoded = sealed.slice(prefix.length);
    const bytes = Buffer.from(encoded, 'base64url');
    // Encoding the bytes again refuses other spellings of the same bytes.
    if (!sealed.startsWith(prefix) || bytes.toString('base64url') !== encoded || bytes.length < nonceBytes + tagBytes) {
      throw new Error('a sealed secret has an unknown format; start the version that wrote it');
    }
    const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes });
    decipher.setAAD(Buffer.from(purpose)).setAuthTag(bytes.subarray(-tagBytes));
    try {
      return decipher.update(bytes.subarray(nonceBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8');
    } catch (cause) {
      throw new Error('cannot decrypt a sealed secret: it was changed, or encrypted for another purpose or with another key', { cause });
    }
  }

  return { seal, open };
}
