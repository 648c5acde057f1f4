import { pbkdf2, randomBytes, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { createParallelLimit } from '../../core/work/parallel-limit.js';
import { KeystoreError } from './keystore-error.js';
import type { KeystoreFields } from './keystore-fields.js';

const pbkdf2Async = promisify(pbkdf2);

/** The parameters that both key derivations have: the length of the key in bytes, and the salt in hex. */
interface KeyParams {
  readonly dklen: number;
  readonly salt: string;
}

/** How the passphrase of a keystore becomes a key. */
export type KeyDerivation =
  | { readonly kdf: 'scrypt'; readonly kdfparams: KeyParams & { readonly n: number; readonly r: number; readonly p: number } }
  | { readonly kdf: 'pbkdf2'; readonly kdfparams: KeyParams & { readonly c: number } };

/** Reads the key derivation from the `crypto` of a keystore. `deriveKey` checks how much it costs. */
export function readKeyDerivation(crypto: KeystoreFields): KeyDerivation {
  const kdf = crypto.oneOf('kdf', ['scrypt', 'pbkdf2']);
  // The parameters of an unknown key derivation cannot be checked; the error names `kdf` alone.
  if (kdf === undefined) return newKeyDerivation();
  const params = crypto.within('kdfparams');
  const common = { dklen: params.integer('dklen', 32, 1024), salt: params.text('salt', /^(?:0x)?(?:[0-9a-fA-F]{2}){1,1024}$/) };
  if (kdf === 'scrypt')
    return { kdf, kdfparams: { n: params.integer('n', 2), r: params.integer('r', 1), p: params.integer('p', 1), ...common } };
  params.oneOf('prf', ['hmac-sha256']);
  return { kdf, kdfparams: { c: params.integer('c', 1), ...common } };
}

/** ethers' default, half the cost of geth's "standard": 0.3 to 0.5 s and 128 MiB. */
const scryptN = 131_072;

/** geth's most expensive setting needs 256 MiB. */
const maxScryptBytes = 512 * 1024 * 1024;
/** Sixteen times the work of geth's most expensive setting. */
const maxScryptWork = 2 ** 25;
/** Sixteen times geth's. Each 32 bytes of the key cost all rounds again. */
const maxPbkdf2Rounds = 2 ** 22;
const pbkdf2BlockBytes = 32;

/** Each derivation needs a processor, and scrypt 128 MiB or more, so at most two run at once. */
const { run: inTurn } = createParallelLimit(2);

/** Returns the key derivation for a new keystore, with a random salt. */
export function newKeyDerivation(): KeyDerivation {
  return { kdf: 'scrypt', kdfparams: { n: scryptN, r: 8, p: 1, dklen: 32, salt: randomBytes(32).toString('hex') } };
}

/** Derives the key off the event loop. Throws `KeystoreError` `too_costly` before it allocates memory for extreme parameters. */
export async function deriveKey(derivation: KeyDerivation, passphrase: Buffer): Promise<Buffer> {
  const { kdfparams } = derivation;
  const saltBytes = Buffer.from(kdfparams.salt.replace(/^0x/, ''), 'hex');
  if (derivation.kdf === 'pbkdf2') {
    const { c } = derivation.kdfparams;
    const most = Math.floor(maxPbkdf2Rounds / Math.ceil(kdfparams.dklen / pbkdf2BlockBytes));
    if (c > most) throw new KeystoreError('too_costly', `the keystore's pbkdf2 c is ${c}; it must be at most ${most}`);
    return inTurn(() => pbkdf2Async(passphrase, saltBytes, c, kdfparams.dklen, 'sha256'));
  }
  const { n, r, p } = derivation.kdfparams;
  if (!Number.isInteger(Math.log2(n))) throw new KeystoreError('malformed', `the keystore's scrypt n is ${n}; it must be a power of two`);
  const bytes = 128 * n * r;
  if (bytes > maxScryptBytes || n * r * p > maxScryptWork) {
    const limit = `128*n*r may be at most ${maxScryptBytes}, n*r*p at most ${maxScryptWork}`;
    throw new KeystoreError('too_costly', `the keystore's scrypt parameters are too costly: n ${n}, r ${r}, p ${p}; ${limit}`);
  }
  return inTurn(() => scryptAsync(passphrase, saltBytes, kdfparams.dklen, { N: n, r, p, maxmem: 2 * bytes + 128 * r * p + 1024 * 1024 }));
}

function scryptAsync(
  passphrase: Buffer,
  saltBytes: Buffer,
  length: number,
  options: { N: number; r: number; p: number; maxmem: number },
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(passphrase, saltBytes, length, options, (error, key) => (error === null ? resolve(key) : reject(error)));
  });
}
