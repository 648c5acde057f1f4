import { invalidField } from '../errors.js';

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
