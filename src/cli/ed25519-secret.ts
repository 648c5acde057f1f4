import { CliError } from './cli-error.js';

const forms = '64 hex digits, S... of Stellar, base58 or a JSON list of bytes of Solana';

/** The 32 bytes of an ed25519 seed, in any form that people keep it in. Throws CliError, in which the text never is. */
export async function seedFromText(text: string): Promise<Buffer> {
  const secret = text.trim();
  const digits = /^(?:0x)?([0-9a-fA-F]{64})$/.exec(secret)?.[1];
  if (digits !== undefined) return Buffer.from(digits, 'hex');
  const { seedFromSecretSeed } = await import('../chains/stellar/secret-seed.js');
  const seed = seedFromSecretSeed(secret);
  if (seed !== null) return seed;
  const { bytesFromSecretKey } = await import('../chains/solana/secret-key.js');
  const bytes = bytesFromSecretKey(secret);
  if (bytes === null) throw new CliError(`the private key must be ${forms}`, 2);
  return bytes.length === 32 ? bytes : seedOfPair(bytes);
}

/** Solana's secret keys end with the public key: one that does not fit would sign for an account that its owner does not expect. */
async function seedOfPair(bytes: Buffer): Promise<Buffer> {
  const { keyFromSeed, publicKeyOf } = await import('../signers/local/ed25519-key.js');
  const seed = bytes.subarray(0, 32);
  if (publicKeyOf(keyFromSeed(seed)).equals(bytes.subarray(32))) return seed;
  throw new CliError('the private key does not fit the public key that stands behind it', 2);
}
