import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { CliError } from './cli-error.js';
import { checkNewFile, writeNewSecretFile } from './new-secret-file.js';
import { writeLine, writeNote } from './output.js';
import { createSecretInput } from './secret-input.js';

interface CreateOptions {
  readonly out: string;
  readonly passphraseEnv?: string;
}

interface ImportOptions extends CreateOptions {
  readonly keyEnv?: string;
}

const secretsHelp = `
The passphrase comes from the variable that --passphrase-env names, else it is asked for, or read from standard input
when that is a pipe. Nothing secret is taken from the command line. The file is readable by its owner only, and an
existing file is never overwritten. The address is printed.`;

/** `relayer keystore create` and `import`: keys in Ethereum keystore files (version 3), which `signers` of type `local` use. */
export function registerKeystore(program: Command): void {
  const keystore = program
    .command('keystore')
    .description('make Ethereum keystore files for signers of type local')
    .helpCommand('help [command]', 'print the help of a command')
    .addHelpText(
      'after',
      '\nExamples:\n  relayer keystore create --out keys/signer.json\n  relayer keystore import --out keys/signer.json',
    );
  keystore
    .command('create')
    .description('make a new key, encrypted with a passphrase')
    .requiredOption('--out <file>', 'the keystore file to write')
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
    .option('--key-env <name>', 'the environment variable that holds the private key (64 hex digits)')
    .option('--passphrase-env <name>', 'the environment variable that holds the passphrase')
    .addHelpText('after', secretsHelp)
    .addHelpText(
      'after',
      '\nThe private key is found in the same way; on standard input it comes first, the passphrase on the next line.' +
        '\n\nExample:\n  relayer keystore import --out keys/signer.json --passphrase-env KEYSTORE_PASSPHRASE < private-key.txt',
    )
    .action(importKey);
}

async function create({ out, passphraseEnv }: CreateOptions): Promise<void> {
  await checkNewFile(out);
  const passphrase = await createSecretInput().read({ what: 'passphrase', envName: passphraseEnv, twice: true });
  // All but 2^-127 of these are keys; the rest fails below.
  await writeKeystore(randomBytes(32), passphrase, out);
}

async function importKey({ out, keyEnv, passphraseEnv }: ImportOptions): Promise<void> {
  await checkNewFile(out);
  const input = createSecretInput();
  const key = keyFromText(await input.read({ what: 'private key', envName: keyEnv, twice: false }));
  const passphrase = await input.read({ what: 'passphrase', envName: passphraseEnv, twice: true });
  await writeKeystore(key, passphrase, out);
}

async function writeKeystore(key: Buffer, passphrase: string, out: string): Promise<void> {
  const { initKeccak } = await import('../crypto/keccak.js');
  const { createKeystore } = await import('../signers/local/keystore.js');
  await initKeccak();
  const address = await addressOf(key);
  writeNote('encrypting the key, which takes a moment...');
  const json = await createKeystore(key, passphrase);
  key.fill(0);
  await writeNewSecretFile(out, `${json}\n`);
  writeLine(address);
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
