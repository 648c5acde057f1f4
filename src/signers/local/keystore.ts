import { createCipheriv, createDecipheriv, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { keccak256 } from '../../crypto/keccak.js';
import { deriveKey, type KeyDerivation, keyDerivation } from './key-derivation.js';
import { KeystoreError } from './keystore-error.js';
import { valueFromKeystoreJson } from './keystore-json.js';
import { addressOfKey } from './local-signer.js';

const hexOf = (bytes: number) => z.string().regex(new RegExp(`^(?:0x)?[0-9a-fA-F]{${bytes * 2}}$`));

const cipherShape = z.object({
  cipher: z.literal('aes-128-ctr'),
  ciphertext: hexOf(32),
  cipherparams: z.object({ iv: hexOf(16) }),
  mac: hexOf(32),
});

const keystoreShape = z.object({
  version: z.union([z.literal(3), z.literal('3')]),
  address: hexOf(20).optional(),
  crypto: z.intersection(cipherShape, keyDerivation),
});

/** What an Ethereum keystore holds. The caller should overwrite `privateKey` when it is done. */
export interface OpenedKeystore {
  /** EIP-55. */
  readonly address: string;
  readonly privateKey: Buffer;
}

/** geth's "standard" costs twice this; ethers' default is this. */
const scryptN = 131_072;

/** An Ethereum keystore (version 3) with the key under the passphrase, as JSON that geth and ethers open. `initKeccak` must have resolved. */
export async function createKeystore(privateKey: Uint8Array, passphrase: string): Promise<string> {
  const address = addressOfKey(privateKey);
  const derivation: KeyDerivation = {
    kdf: 'scrypt',
    kdfparams: { n: scryptN, r: 8, p: 1, dklen: 32, salt: randomBytes(32).toString('hex') },
  };
  const key = await deriveKey(derivation, bytesOf(passphrase.normalize('NFKC')));
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

/** Opens an Ethereum keystore (version 3; scrypt or pbkdf2). Throws `KeystoreError`. `initKeccak` must have resolved. */
export async function openKeystore(json: string, passphrase: string): Promise<OpenedKeystore> {
  const { address, crypto } = readKeystore(json);
  const ciphertext = fromHex(crypto.ciphertext);
  const key = await keyThatFits(crypto, ciphertext, fromHex(crypto.mac), passphrase);
  const decipher = createDecipheriv('aes-128-ctr', key.subarray(0, 16), fromHex(crypto.cipherparams.iv));
  const privateKey = Buffer.concat([decipher.update(ciphertext), decipher.final()]);
  key.fill(0);
  const found = addressIn(privateKey);
  if (address !== undefined && address.replace(/^0x/, '').toLowerCase() !== found.slice(2).toLowerCase()) {
    privateKey.fill(0);
    throw new KeystoreError('malformed', `the keystore says that it holds the key of 0x${address.replace(/^0x/, '')}, but holds another`);
  }
  return { address: found, privateKey };
}

function addressIn(privateKey: Buffer): string {
  try {
    return addressOfKey(privateKey);
  } catch {
    throw new KeystoreError('malformed', 'the keystore holds no secp256k1 key');
  }
}

type CryptoPart = z.infer<typeof keystoreShape>['crypto'];

/** What an Ethereum keystore says, still encrypted. Throws `KeystoreError` `malformed`. */
export function readKeystore(json: string): z.infer<typeof keystoreShape> {
  const read = keystoreShape.safeParse(valueFromJson(json));
  if (read.success) return read.data;
  const fields = [...new Set(read.error.issues.map(({ path }) => path.join('.') || 'the whole'))].join(', ');
  throw new KeystoreError('malformed', `this is no keystore of version 3: missing or malformed: ${fields}`);
}

function valueFromJson(json: string): unknown {
  const value = valueFromKeystoreJson(json);
  if (typeof value !== 'object' || value === null || !('Crypto' in value)) return value;
  // Old geth and parity wrote it so.
  return { crypto: value.Crypto, ...value };
}

/** ethers normalises passphrases, geth takes them as typed: the second form is tried only where the two differ. */
async function keyThatFits(crypto: CryptoPart, ciphertext: Buffer, mac: Buffer, passphrase: string): Promise<Buffer> {
  for (const form of new Set([passphrase.normalize('NFKC'), passphrase])) {
    const key = await deriveKey(crypto, bytesOf(form));
    if (timingSafeEqual(macOf(key, ciphertext), mac)) return key;
    key.fill(0);
  }
  throw new KeystoreError('wrong_passphrase', 'the passphrase does not open the keystore');
}

function macOf(key: Buffer, ciphertext: Buffer): Buffer {
  return Buffer.from(keccak256(Buffer.concat([key.subarray(16, 32), ciphertext])));
}

function bytesOf(text: string): Buffer {
  return Buffer.from(text, 'utf8');
}

function fromHex(text: string): Buffer {
  return Buffer.from(text.replace(/^0x/, ''), 'hex');
}
