import { pbkdf2, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { z } from 'zod';
import { KeystoreError } from './keystore-error.js';

const pbkdf2Async = promisify(pbkdf2);

const salt = z.string().regex(/^(?:0x)?(?:[0-9a-fA-F]{2}){1,1024}$/);
const dklen = z.number().int().min(32).max(1024);

/** How a keystore turns its passphrase into a key. */
export const keyDerivation = z.discriminatedUnion('kdf', [
  z.object({
    kdf: z.literal('scrypt'),
    kdfparams: z.object({ n: z.number().int().min(2), r: z.number().int().min(1), p: z.number().int().min(1), dklen, salt }),
  }),
  z.object({
    kdf: z.literal('pbkdf2'),
    kdfparams: z.object({ c: z.number().int().min(1), prf: z.literal('hmac-sha256'), dklen, salt }),
  }),
]);

/** See `keyDerivation`. */
export type KeyDerivation = z.infer<typeof keyDerivation>;

/** geth's dearest takes 256 MiB. */
const greatestScryptBytes = 512 * 1024 * 1024;
/** Sixteen times geth's dearest. */
const greatestScryptWork = 2 ** 25;
const greatestPbkdf2Rounds = 10_000_000;

/** Derives the key, off the event loop. Throws `KeystoreError` `too_dear` before memory is spent on parameters that nobody sane would choose. */
export async function deriveKey(derivation: KeyDerivation, passphrase: Buffer): Promise<Buffer> {
  const { kdfparams } = derivation;
  const saltBytes = Buffer.from(kdfparams.salt.replace(/^0x/, ''), 'hex');
  if (derivation.kdf === 'pbkdf2') {
    const { c } = derivation.kdfparams;
    if (c > greatestPbkdf2Rounds) throw new KeystoreError('too_dear', `the keystore asks for ${c} rounds of pbkdf2`);
    return pbkdf2Async(passphrase, saltBytes, c, kdfparams.dklen, 'sha256');
  }
  const { n, r, p } = derivation.kdfparams;
  if (!Number.isInteger(Math.log2(n))) throw new KeystoreError('malformed', 'the keystore has a scrypt n that is no power of two');
  const bytes = 128 * n * r;
  if (bytes > greatestScryptBytes || n * r * p > greatestScryptWork) {
    throw new KeystoreError('too_dear', `the keystore asks for an absurd scrypt: n ${n}, r ${r}, p ${p}`);
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

/** Each takes 128 MiB and more: at most two at once, whatever the number of keystores. */
const places = 2;
let taken = 0;
const queue: (() => void)[] = [];

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (taken === places) await new Promise<void>((resolve) => queue.push(resolve));
  else taken += 1;
  try {
    return await work();
  } finally {
    const next = queue.shift();
    // The place is handed on, not given back, so that nobody can slip in between.
    if (next === undefined) taken -= 1;
    else next();
  }
}
