import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import type { SecretBox } from '../core/ports/secret-box.js';

const algorithm = 'aes-256-gcm';
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
/** Names the form, so that another algorithm can follow while old texts stay readable. */
const prefix = 'v1.';

/** The key's bytes. Base64 is taken only as an encoder writes it; the text never appears in the error. */
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
 * Seals with AES-256-GCM under one key: `v1.` and base64url of nonce (12 random bytes), cipher text, tag (16 bytes). The purpose is
 * authenticated with it. Throws when the key is not base64 of exactly 32 bytes.
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
    // Comparing what was decoded with the text refuses other spellings of the same bytes.
    if (!sealed.startsWith(prefix) || bytes.toString('base64url') !== encoded || bytes.length < nonceBytes + tagBytes) {
      throw new Error('a sealed secret does not have the form that this version writes');
    }
    const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes });
    decipher.setAAD(Buffer.from(purpose)).setAuthTag(bytes.subarray(-tagBytes));
    try {
      return decipher.update(bytes.subarray(nonceBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8');
    } catch (cause) {
      throw new Error('a sealed secret was changed, or was sealed for another purpose or under another key', { cause });
    }
  }

  /** A key of its own for each purpose, so that no digest helps with anything that is sealed. */
  function digest(bytes: Uint8Array, purpose: string): string {
    const purposeKey = createHmac('sha256', key).update(`digest of ${purpose}`).digest();
    return createHmac('sha256', purposeKey).update(bytes).digest('hex');
  }

  return { seal, open, digest };
}
