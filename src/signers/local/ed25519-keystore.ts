import { createCipheriv, createDecipheriv, randomBytes, randomUUID } from 'node:crypto';
import type { JsonValue } from '../../json/json-value.js';
import { keyFromSeed, publicKeyOf } from './ed25519-key.js';
import { deriveKey, type KeyDerivation, newKeyDerivation, readKeyDerivation } from './key-derivation.js';
import { KeystoreError } from './keystore-error.js';
import { readKeystoreFields, valueFromKeystoreJson } from './keystore-fields.js';

const algorithm = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;

/** The service writes lower-case hex without 0x. */
const hexOf = (bytes: number) => new RegExp(`^[0-9a-f]{${bytes * 2}}$`);

/** An ed25519 keystore, whose key is still encrypted. Bytes are hex. */
interface Keystore {
  readonly publicKey: string;
  readonly derivation: KeyDerivation;
  readonly ciphertext: string;
  readonly iv: string;
  readonly tag: string;
}

/** The content of an ed25519 keystore. The caller should overwrite `privateKey` after use. */
export interface OpenedEd25519Keystore {
  /** 32 bytes. */
  readonly publicKey: Buffer;
  /** The seed: 32 bytes. */
  readonly privateKey: Buffer;
}

/**
 * Encrypts a seed into a keystore of our own format, since Ethereum's format has no place for a second curve and the networks of ed25519
 * keys share no format. The JSON has version, type and public key (hex); `crypto` uses the field names of Ethereum's format, with scrypt
 * and AES-256-GCM.
 */
export async function createEd25519Keystore(seed: Uint8Array, passphrase: string): Promise<string> {
  const publicKey = publicKeyOf(keyFromSeed(seed));
  const derivation = newKeyDerivation();
  const key = await deriveKey(derivation, bytesOf(passphrase));
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv(algorithm, key, iv, { authTagLength: tagBytes });
  const ciphertext = Buffer.concat([cipher.update(seed), cipher.final()]);
  key.fill(0);
  return JSON.stringify({
    version: 1,
    type: 'ed25519',
    id: randomUUID(),
    public_key: publicKey.toString('hex'),
    crypto: {
      cipher: algorithm,
      ciphertext: ciphertext.toString('hex'),
      cipherparams: { iv: iv.toString('hex'), tag: cipher.getAuthTag().toString('hex') },
      ...derivation,
    },
  });
}

/** Decrypts a keystore that `createEd25519Keystore` made. Throws `KeystoreError`. */
export async function openEd25519Keystore(json: string, passphrase: string): Promise<OpenedEd25519Keystore> {
  return decryptEd25519Keystore(readEd25519Keystore(valueFromKeystoreJson(json)), passphrase);
}

/** Decrypts the key of an ed25519 keystore. Throws `KeystoreError`. */
export async function decryptEd25519Keystore(keystore: Keystore, passphrase: string): Promise<OpenedEd25519Keystore> {
  const { publicKey: expected } = keystore;
  const seed = await decrypt(keystore, passphrase);
  const publicKey = publicKeyOf(keyFromSeed(seed));
  if (publicKey.toString('hex') !== expected) {
    seed.fill(0);
    throw new KeystoreError('malformed', `the keystore names the public key ${expected}, but holds another key`);
  }
  return { publicKey, privateKey: seed };
}

/** Reads an ed25519 keystore, parsed from its JSON, without decrypting it. Throws `KeystoreError` `malformed`. */
export function readEd25519Keystore(value: JsonValue): Keystore {
  return readKeystoreFields(value, 'an ed25519 keystore of version 1', (fields) => {
    fields.oneOf('version', [1]);
    fields.oneOf('type', ['ed25519']);
    const publicKey = fields.text('public_key', hexOf(32));
    const crypto = fields.within('crypto');
    crypto.oneOf('cipher', [algorithm]);
    const cipherParams = crypto.within('cipherparams');
    return {
      publicKey,
      derivation: readKeyDerivation(crypto),
      ciphertext: crypto.text('ciphertext', hexOf(32)),
      iv: cipherParams.text('iv', hexOf(ivBytes)),
      tag: cipherParams.text('tag', hexOf(tagBytes)),
    };
  });
}

async function decrypt({ derivation, ciphertext, iv, tag }: Keystore, passphrase: string): Promise<Buffer> {
  const key = await deriveKey(derivation, bytesOf(passphrase));
  const decipher = createDecipheriv(algorithm, key.subarray(0, 32), Buffer.from(iv, 'hex'), { authTagLength: tagBytes });
  decipher.setAuthTag(Buffer.from(tag, 'hex'));
  try {
    return Buffer.concat([decipher.update(Buffer.from(ciphertext, 'hex')), decipher.final()]);
  } catch {
    throw new KeystoreError('wrong_passphrase', 'the passphrase does not decrypt the keystore');
  } finally {
    key.fill(0);
  }
}

/** Keyboards encode the same text differently; normalization makes the bytes equal. */
function bytesOf(passphrase: string): Buffer {
  return Buffer.from(passphrase.normalize('NFKC'), 'utf8');
}
