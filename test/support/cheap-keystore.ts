import { createCipheriv, randomBytes, scryptSync } from 'node:crypto';
import { encryptKeystoreJson, Wallet } from 'ethers';
import { keyFromSeed, publicKeyOf } from '../../src/signers/local/ed25519-key.js';

const cheap = { N: 1024, r: 8, p: 1 };

/** Makes an Ethereum keystore that opens a hundred times faster than a real one. */
export function cheapKeystore(privateKey: Uint8Array, passphrase: string): Promise<string> {
  const wallet = new Wallet(`0x${Buffer.from(privateKey).toString('hex')}`);
  return encryptKeystoreJson({ address: wallet.address, privateKey: wallet.privateKey }, passphrase, { scrypt: cheap });
}

/** Removes the address from an Ethereum keystore, as OpenZeppelin Relayer writes keystores for every network. */
export function keystoreOfAnyNetwork(json: string): string {
  const { address: _, Crypto, crypto = Crypto, ...rest } = JSON.parse(json);
  return JSON.stringify({ ...rest, crypto });
}

/** Makes an ed25519 keystore that opens fast, without the tested code. `publicKey` is the one that the file names. */
export function cheapEd25519Keystore(seed: Uint8Array, passphrase: string, publicKey = publicKeyOf(keyFromSeed(seed))): string {
  const salt = randomBytes(32);
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', scryptSync(passphrase.normalize('NFKC'), salt, 32, cheap), iv);
  const ciphertext = Buffer.concat([cipher.update(seed), cipher.final()]).toString('hex');
  return JSON.stringify({
    version: 1,
    type: 'ed25519',
    public_key: publicKey.toString('hex'),
    crypto: {
      cipher: 'aes-256-gcm',
      ciphertext,
      cipherparams: { iv: iv.toString('hex'), tag: cipher.getAuthTag().toString('hex') },
      kdf: 'scrypt',
      kdfparams: { n: cheap.N, r: cheap.r, p: cheap.p, dklen: 32, salt: salt.toString('hex') },
    },
  });
}
