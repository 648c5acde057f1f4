import { randomBytes } from 'node:crypto';
import { type Command, Option } from 'commander';
import type { Curve } from '../core/ports/signer.js';
import { CliError } from './cli-error.js';
import { seedFromText } from './ed25519-secret.js';
import { checkNewFile, writeNewSecretFile } from './new-secret-file.js';
import { writeLine, writeNote } from './output.js';
import { createSecretInput } from './secret-input.js';

interface CreateOptions {
  readonly type: Curve;
  readonly out: string;
  readonly passphraseEnv?: string;
}

interface ImportOptions extends CreateOptions {
  readonly keyEnv?: string;
}

const secretsHelp = `
The passphrase comes from the variable that --passphrase-env names, else it is asked for, or read from standard input
when that is a pipe. Nothing secret is taken from the command line. The file is readable by its owner only, and an
existing file is never overwritten. The address is printed; of an ed25519 key, which both networks can use, the one on
Stellar and the one on Solana.`;

function typeOption(): Option {
  return new Option('--type <curve>', 'secp256k1 for EVM networks, ed25519 for Stellar and Solana')
    .choices(['secp256k1', 'ed25519'] satisfies Curve[])
    .default('secp256k1');
}

/** `relayer keystore create` and `import`: keys in keystore files (Ethereum's version 3, or ours for ed25519), which `signers` of type `local` use. */
export function registerKeystore(program: Command): void {
  const keystore = program
    .command('keystore')
    .description('make keystore files for signers of type local')
    .helpCommand('help [command]', 'print the help of a command')
    .addHelpText(
      'after',
      '\nExamples:\n  relayer keystore create --out keys/signer.json\n  relayer keystore create --type ed25519 --out keys/stellar.json' +
        '\n  relayer keystore import --out keys/signer.json',
    );
  keystore
    .command('create')
    .description('make a new key, encrypted with a passphrase')
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
    .description('encrypt a private key that you have with a passphrase')
    .requiredOption('--out <file>', 'the keystore file to write')
    .option('--key-env <name>', 'the environment variable that holds the private key')
    .addOption(typeOption())
    .option('--passphrase-env <name>', 'the environment variable that holds the passphrase')
    .addHelpText('after', secretsHelp)
    .addHelpText(
      'after',
      '\nThe private key is found in the same way; on standard input it comes first, the passphrase on the next line. It is' +
        '\n64 hex digits; of type ed25519 also S... (Stellar), base58 or a JSON list of bytes (Solana).' +
        '\n\nExample:\n  relayer keystore import --out keys/signer.json --passphrase-env KEYSTORE_PASSPHRASE < private-key.txt',
    )
    .action(importKey);
}

async function create({ type, out, passphraseEnv }: CreateOptions): Promise<void> {
  await checkNewFile(out);
  const passphrase = await createSecretInput().read({ what: 'passphrase', envName: passphraseEnv, twice: true });
  // All of these are ed25519 seeds, and all but 2^-127 keys of secp256k1; the rest fails below.
  await writeKeystore(type, randomBytes(32), passphrase, out);
}

async function importKey({ type, out, keyEnv, passphraseEnv }: ImportOptions): Promise<void> {
  await checkNewFile(out);
  const input = createSecretInput();
  const text = await input.read({ what: 'private key', envName: keyEnv, twice: false });
  const key = type === 'ed25519' ? await seedFromText(text) : keyFromText(text);
  const passphrase = await input.read({ what: 'passphrase', envName: passphraseEnv, twice: true });
  await writeKeystore(type, key, passphrase, out);
}

async function writeKeystore(type: Curve, key: Buffer, passphrase: string, out: string): Promise<void> {
  const { addresses, encrypt } = type === 'ed25519' ? await ed25519Keystore(key) : await ethereumKeystore(key);
  writeNote('encrypting the key, which takes a moment...');
  const json = await encrypt(passphrase);
  key.fill(0);
  await writeNewSecretFile(out, `${json}\n`);
  for (const address of addresses) writeLine(address);
}

/** A key that can be written, with the lines that tell whose it is. */
interface NewKeystore {
  readonly addresses: readonly string[];
  encrypt(passphrase: string): Promise<string>;
}

async function ethereumKeystore(key: Buffer): Promise<NewKeystore> {
  const { initKeccak } = await import('../crypto/keccak.js');
  const { createKeystore } = await import('../signers/local/keystore.js');
  await initKeccak();
  return { addresses: [await addressOf(key)], encrypt: (passphrase) => createKeystore(key, passphrase) };
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

/** The bytes of a private key as people keep it. The text is never in the error. */
function keyFromText(text: string): Buffer {
  const digits = /^\s*(?:0x)?([0-9a-fA-F]{64})\s*$/.exec(text)?.[1];
  if (digits === undefined) throw new CliError('the private key must be 64 hex digits, with or without 0x', 2);
  return Buffer.from(digits, 'hex');
}

async function addressOf(key: Buffer): Promise<string> {
  const { addressOfKey } = await import('../signers/local/local-signer.js');
  try {
    return addressOfKey(key);
  } catch {
    throw new CliError('the private key is not one of the curve secp256k1 (zero, or too large)', 2);
  }
}
