import { randomBytes } from 'node:crypto';
import { access, open, unlink } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import type { Curve } from '../core/records/network.js';
import { CliError } from './terminal/cli-error.js';
import { writeLine, writeNote } from './terminal/output.js';
import { createSecretReader } from './terminal/read-secret.js';

interface CreateOptions {
  readonly type: Curve;
  readonly out: string;
  readonly passphraseEnv?: string;
}

interface ImportOptions extends CreateOptions {
  readonly keyEnv?: string;
}

const secretsHelp = `
The passphrase comes from the variable that --passphrase-env names. Without that option, the command asks for it, or
reads it from standard input if that is a pipe. The command never reads a secret from its arguments. Only the owner can
read the file, and the command never overwrites an existing file. It prints the address of the key. An ed25519 key works
on both Stellar and Solana, so it prints the address on each.`;

function typeOption(): Option {
  return new Option('--type <curve>', 'secp256k1 for EVM networks, ed25519 for Stellar and Solana')
    .choices(['secp256k1', 'ed25519'] satisfies Curve[])
    .default('secp256k1');
}

/**
 * `relayer keystore create` and `import`: write keystore files (Ethereum's version 3, or our format for ed25519) for signers of type
 * `local`.
 */
export function registerKeystore(program: Command): void {
  const keystore = program
    .command('keystore')
    .description('create keystore files for signers of type local')
    .helpCommand('help [command]', 'print the help for a command')
    .addHelpText(
      'after',
      '\nExamples:\n  relayer keystore create --out keys/signer.json\n  relayer keystore create --type ed25519 --out keys/stellar.json' +
        '\n  relayer keystore import --out keys/signer.json',
    );
  keystore
    .command('create')
    .description('create a key and encrypt it with a passphrase')
    .requiredOption('--out <file>', 'the keystore file to write')
    .addOption(typeOption())
    .option('--passphrase-env <name>', 'the environment variable that holds the passphrase')
    .addHelpText('after', secretsHelp)
    .addHelpText(
      'after',
      '\nExample:\n  KEYSTORE_PASSPHRASE=... relayer keystore create --out keys/signer.json --passphrase-env KEYSTORE_PASSPHRASE',
    )
    .action(create);
  keystore
    .command('import')
    .description('encrypt an existing private key with a passphrase')
    .requiredOption('--out <file>', 'the keystore file to write')
    .option('--key-env <name>', 'the environment variable that holds the private key')
    .addOption(typeOption())
    .option('--passphrase-env <name>', 'the environment variable that holds the passphrase')
    .addHelpText('after', secretsHelp)
    .addHelpText(
      'after',
      '\nThe private key is read in the same way. On standard input, the private key is the first line and the passphrase is the' +
        '\nsecond. A private key is 64 hex digits; with --type ed25519 also S... (Stellar), or base58 or a JSON array of bytes (Solana).' +
        '\n\nExample:\n  relayer keystore import --out keys/signer.json --passphrase-env KEYSTORE_PASSPHRASE < private-key.txt',
    )
    .action(importKey);
}

async function create({ type, out, passphraseEnv }: CreateOptions): Promise<void> {
  await checkNewFile(out);
  const passphrase = await createSecretReader()({ what: 'passphrase', envName: passphraseEnv, twice: true });
  // Any 32 bytes are an ed25519 seed. All but one in 2^127 are a secp256k1 key; the others fail below.
  await writeKeystore(type, randomBytes(32), passphrase, out);
}

async function importKey({ type, out, keyEnv, passphraseEnv }: ImportOptions): Promise<void> {
  await checkNewFile(out);
  const readSecret = createSecretReader();
  const text = await readSecret({ what: 'private key', envName: keyEnv, twice: false });
  const key = type === 'ed25519' ? await ed25519SeedFrom(text) : secp256k1KeyFrom(text);
  const passphrase = await readSecret({ what: 'passphrase', envName: passphraseEnv, twice: true });
  await writeKeystore(type, key, passphrase, out);
}

async function writeKeystore(type: Curve, key: Buffer, passphrase: string, out: string): Promise<void> {
  const { addresses, encrypt } = type === 'ed25519' ? await ed25519Keystore(key) : await ethereumKeystore(key);
  writeNote('encrypting the key; this takes a moment');
  const json = await encrypt(passphrase);
  key.fill(0);
  await writeNewSecretFile(out, `${json}\n`);
  for (const address of addresses) writeLine(address);
}

interface NewKeystore {
  /** One line for each network. */
  readonly addresses: readonly string[];
  encrypt(passphrase: string): Promise<string>;
}

async function ethereumKeystore(key: Buffer): Promise<NewKeystore> {
  const { createKeystore } = await import('../signers/local/keystore.js');
  return { addresses: [await addressOf(key)], encrypt: (passphrase) => createKeystore(key, passphrase) };
}

async function addressOf(key: Buffer): Promise<string> {
  const { addressOfKey } = await import('../signers/local/local-signer.js');
  try {
    return addressOfKey(key);
  } catch {
    throw new CliError('the private key is not a secp256k1 key: it is zero or too large', 2);
  }
}

async function ed25519Keystore(seed: Buffer): Promise<NewKeystore> {
  const { createEd25519Keystore } = await import('../signers/local/ed25519-keystore.js');
  const { keyFromSeed, publicKeyOf } = await import('../signers/local/ed25519-key.js');
  const stellar = await import('../chains/stellar/address.js');
  const solana = await import('../chains/solana/address.js');
  const publicKey = publicKeyOf(keyFromSeed(seed));
  return {
    addresses: [`stellar: ${stellar.addressFromPublicKey(publicKey)}`, `solana: ${solana.addressFromPublicKey(publicKey)}`],
    encrypt: (passphrase) => createEd25519Keystore(seed, passphrase),
  };
}

function bytesFromHex(text: string): Buffer | null {
  const digits = /^\s*(?:0x)?([0-9a-fA-F]{64})\s*$/.exec(text)?.[1];
  return digits === undefined ? null : Buffer.from(digits, 'hex');
}

/** Reads a secp256k1 key. Throws CliError, which never quotes the text. */
function secp256k1KeyFrom(text: string): Buffer {
  const key = bytesFromHex(text);
  if (key === null) throw new CliError('the private key must be 64 hex digits, with or without 0x', 2);
  return key;
}

/** Reads the 32 bytes of an ed25519 seed in any common form. Throws CliError, which never quotes the text. */
async function ed25519SeedFrom(text: string): Promise<Buffer> {
  const secret = text.trim();
  const { seedFromSecretSeed } = await import('../chains/stellar/address.js');
  const seed = bytesFromHex(secret) ?? seedFromSecretSeed(secret);
  if (seed !== null) return seed;
  const { bytesFromSecretKey } = await import('../chains/solana/address.js');
  const bytes = bytesFromSecretKey(secret);
  if (bytes === null) {
    throw new CliError('the private key must be 64 hex digits, S... (Stellar), or base58 or a JSON array of bytes (Solana)', 2);
  }
  return bytes.length === 32 ? bytes : seedFromPair(bytes);
}

/** Solana's secret keys end with the public key. A pair that does not match would sign for an account that the user does not expect. */
async function seedFromPair(bytes: Buffer): Promise<Buffer> {
  const { keyFromSeed, publicKeyOf } = await import('../signers/local/ed25519-key.js');
  const seed = bytes.subarray(0, 32);
  if (publicKeyOf(keyFromSeed(seed)).equals(bytes.subarray(32))) return seed;
  throw new CliError('the private key does not match the public key that follows it', 2);
}

/** Throws CliError if the file exists, before the user enters a secret that the command could not save. */
async function checkNewFile(file: string): Promise<void> {
  const exists = await access(file).then(
    () => true,
    () => false,
  );
  if (exists) throw new CliError(`${file} already exists; it is never overwritten`);
}

/** Creates a file that only its owner can read, and waits until it is on disk. Throws CliError if the file cannot be created. */
async function writeNewSecretFile(file: string, content: string): Promise<void> {
  const handle = await open(file, 'wx', 0o600).catch((error: unknown) => {
    throw new CliError(`${file} ${createProblem(error)}`);
  });
  try {
    await handle.writeFile(content);
    await handle.sync();
  } catch (error) {
    await unlink(file);
    throw error;
  } finally {
    await handle.close();
  }
}

function createProblem(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EEXIST') return 'already exists; it is never overwritten';
  if (code === 'ENOENT') return 'cannot be created: its folder does not exist';
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return 'cannot be created: permission denied';
  return `cannot be created (${String(code)})`;
}
