import { createCipheriv, createDecipheriv, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import { keccak256 } from '../../crypto/keccak.js';
import type { JsonValue } from '../../json/json-value.js';
import { deriveKey, type KeyDerivation, newKeyDerivation, readKeyDerivation } from './key-derivation.js';
import { KeystoreError } from './keystore-error.js';
import { hexPattern, readKeystoreFields, valueFromKeystoreJson } from './keystore-fields.js';
import { addressOfKey } from './local-signer.js';

/** An Ethereum keystore, whose key is still encrypted. Bytes are hex, with or without 0x. */
interface Keystore {
  readonly address: string | undefined;
  readonly derivation: KeyDerivation;
  readonly ciphertext: string;
  readonly iv: string;
  readonly mac: string;
}

/** The content of an Ethereum keystore. The caller should overwrite `privateKey` after use. */
export interface OpenedKeystore {
  /** EIP-55. */
  readonly address: string;
  readonly privateKey: Buffer;
}

/** Encrypts a key into an Ethereum keystore (version 3), as JSON that geth and ethers can open. */
export async function createKeystore(privateKey: Uint8Array, passphrase: string): Promise<string> {
  const address = addressOfKey(privateKey);
  const derivation = newKeyDerivation();
  const key = await deriveKey(derivation, Buffer.from(passphrase.normalize('NFKC')));
  const iv = randomBytes(16);
  const cipher = createCipheriv('aes-128-ctr', key.subarray(0, 16), iv);
  const ciphertext = Buffer.concat([cipher.update(privateKey), cipher.final()]);
  const mac = macOf(key, ciphertext);
  key.fill(0);
  return JSON.stringify({
    version: 3,
    id: randomUUID(),
    address: address.slice(2).toLowerCase(),
    crypto: {
      cipher: 'aes-128-ctr',
      ciphertext: ciphertext.toString('hex'),
      cipherparams: { iv: iv.toString('hex') },
      ...derivation,
      mac: mac.toString('hex'),
    },
  });
}

/** Opens an Ethereum keystore (version 3; scrypt or pbkdf2). Throws `KeystoreError`. */
export async function openKeystore(json: string, passphrase: string): Promise<OpenedKeystore> {
  return decryptKeystore(readKeystore(valueFromKeystoreJson(json)), passphrase);
}

/** Decrypts the key of an Ethereum keystore. Throws `KeystoreError`. */
export async function decryptKeystore(keystore: Keystore, passphrase: string): Promise<OpenedKeystore> {
  const { address } = keystore;
  const ciphertext = fromHex(keystore.ciphertext);
  const key = await deriveCheckedKey(keystore.derivation, ciphertext, fromHex(keystore.mac), passphrase);
  const decipher = createDecipheriv('aes-128-ctr', key.subarray(0, 16), fromHex(keystore.iv));
  const privateKey = Buffer.concat([decipher.update(ciphertext), decipher.final()]);
  key.fill(0);
  const found = addressIn(privateKey);
  if (address !== undefined && address.replace(/^0x/, '').toLowerCase() !== found.slice(2).toLowerCase()) {
    privateKey.fill(0);
    throw new KeystoreError(
      'malformed',
      `the keystore names the address 0x${address.replace(/^0x/, '')}, but holds the key of another address`,
    );
  }
  return { address: found, privateKey };
}

function addressIn(privateKey: Buffer): string {
  try {
    return addressOfKey(privateKey);
  } catch {
    throw new KeystoreError('malformed', 'the keystore does not hold a secp256k1 key');
  }
}

/** Reads an Ethereum keystore, parsed from its JSON, without decrypting it. Throws `KeystoreError` `malformed`. */
export function readKeystore(value: JsonValue): Keystore {
  return readKeystoreFields(value, 'a version 3 keystore', (fields) => {
    fields.oneOf('version', [3, '3']);
    const address = fields.has('address') ? fields.text('address', hexPattern(20)) : undefined;
    // Old versions of geth and Parity write `Crypto`.
    const crypto = fields.within(fields.has('Crypto') && !fields.has('crypto') ? 'Crypto' : 'crypto');
    crypto.oneOf('cipher', ['aes-128-ctr']);
    return {
      address,
      derivation: readKeyDerivation(crypto),
      ciphertext: crypto.text('ciphertext', hexPattern(32)),
      iv: crypto.within('cipherparams').text('iv', hexPattern(16)),
      mac: crypto.text('mac', hexPattern(32)),
    };
  });
}

/** Derives the key and checks it. ethers normalizes passphrases and geth does not, so both forms are tried if they differ. */
async function deriveCheckedKey(derivation: KeyDerivation, ciphertext: Buffer, mac: Buffer, passphrase: string): Promise<Buffer> {
  for (const form of new Set([passphrase.normalize('NFKC'), passphrase])) {
    const key = await deriveKey(derivation, Buffer.from(form));
    if (timingSafeEqual(macOf(key, ciphertext), mac)) return key;
    key.fill(0);
  }
  throw new KeystoreError('wrong_passphrase', 'the passphrase does not decrypt the keystore');
}

function macOf(key: Buffer, ciphertext: Buffer): Buffer {
  return Buffer.from(keccak256(Buffer.concat([key.subarray(16, 32), ciphertext])));
}

function fromHex(text: string): Buffer {
  return Buffer.from(text.replace(/^0x/, ''), 'hex');
}
