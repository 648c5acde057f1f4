import { createCipheriv, createDecipheriv, randomBytes, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { keyFromSeed, publicKeyOf } from './ed25519-key.js';
import { deriveKey, type KeyDerivation, keyDerivation } from './key-derivation.js';
import { KeystoreError } from './keystore-error.js';
import { valueFromKeystoreJson } from './keystore-json.js';

const algorithm = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;

const hexOf = (bytes: number) => z.string().regex(new RegExp(`^[0-9a-f]{${bytes * 2}}$`));

const keystoreShape = z.object({
  version: z.literal(1),
  type: z.literal('ed25519'),
  public_key: hexOf(32),
  crypto: z.intersection(
    z.object({
      cipher: z.literal(algorithm),
      ciphertext: hexOf(32),
      cipherparams: z.object({ iv: hexOf(ivBytes), tag: hexOf(tagBytes) }),
    }),
    keyDerivation,
  ),
});

/** What an ed25519 keystore holds. The caller should overwrite `privateKey` when it is done. */
export interface OpenedEd25519Keystore {
  /** 32 bytes. */
  readonly publicKey: Buffer;
  /** The seed: 32 bytes. */
  readonly privateKey: Buffer;
}

/** The same as for Ethereum keystores: 0.3 to 0.5 s and 128 MiB. */
const scryptN = 131_072;

/**
 * A keystore of our own with the seed under the passphrase: Ethereum's format has no room for another curve, and no other is common to Stellar and
 * Solana. JSON of its version, type and public key (hex), and in `crypto`, worded as Ethereum's, scrypt and AES-256-GCM.
 */
export async function createEd25519Keystore(seed: Uint8Array, passphrase: string): Promise<string> {
  const publicKey = publicKeyOf(keyFromSeed(seed));
  const derivation: KeyDerivation = {
    kdf: 'scrypt',
    kdfparams: { n: scryptN, r: 8, p: 1, dklen: 32, salt: randomBytes(32).toString('hex') },
  };
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

/** Opens a keystore that `createEd25519Keystore` made. Throws `KeystoreError`. */
export async function openEd25519Keystore(json: string, passphrase: string): Promise<OpenedEd25519Keystore> {
  const { public_key: said, crypto } = readEd25519Keystore(json);
  const seed = await decrypted(crypto, passphrase);
  const publicKey = publicKeyOf(keyFromSeed(seed));
  if (publicKey.toString('hex') !== said) {
    seed.fill(0);
    throw new KeystoreError('malformed', `the keystore says that it holds the key of ${said}, but holds another`);
  }
  return { publicKey, privateKey: seed };
}

type Keystore = z.infer<typeof keystoreShape>;

/** What an ed25519 keystore says, still encrypted. Throws `KeystoreError` `malformed`. */
export function readEd25519Keystore(json: string): Keystore {
  const read = keystoreShape.safeParse(valueFromKeystoreJson(json));
  if (read.success) return read.data;
  const fields = [...new Set(read.error.issues.map(({ path }) => path.join('.') || 'the whole'))].join(', ');
  throw new KeystoreError('malformed', `this is no ed25519 keystore of version 1: missing or malformed: ${fields}`);
}

async function decrypted(crypto: Keystore['crypto'], passphrase: string): Promise<Buffer> {
  const key = await deriveKey(crypto, bytesOf(passphrase));
  const decipher = createDecipheriv(algorithm, key.subarray(0, 32), fromHex(crypto.cipherparams.iv), { authTagLength: tagBytes });
  decipher.setAuthTag(fromHex(crypto.cipherparams.tag));
  try {
    return Buffer.concat([decipher.update(fromHex(crypto.ciphertext)), decipher.final()]);
  } catch {
    throw new KeystoreError('wrong_passphrase', 'the passphrase does not open the keystore');
  } finally {
    key.fill(0);
  }
}

/** One text may be typed as different characters; normalised, they are the same. */
function bytesOf(passphrase: string): Buffer {
  return Buffer.from(passphrase.normalize('NFKC'), 'utf8');
}

function fromHex(text: string): Buffer {
  return Buffer.from(text, 'hex');
}
