import { access } from 'node:fs/promises';
import type { Command } from 'commander';
import { processEnvironment } from '../config/environment.js';
import { fileProblem } from '../config/file-problem.js';
import { base64Key } from '../config/setting-parsers.js';
import { readSetting } from '../config/settings.js';
import { createLogger } from '../observability/logger.js';
import { DatabaseLockedError } from '../storage/database-locked-error.js';
import { CliError } from './cli-error.js';
import { writeLine } from './output.js';
import { createSecretInput } from './secret-input.js';

interface RotateOptions {
  readonly newKeyEnv?: string;
}

const help = `
Reads DATABASE_URL, and the present key from STORAGE_ENCRYPTION_KEY. The new one comes from the variable that
--new-key-env names, else it is asked for, or read from standard input when that is a pipe; make one with
openssl rand -base64 32. The service must be stopped. All is done in one commit: where it does not happen nothing has
changed. Backups made before still open with the old key.

Example:
  export NEW_KEY=$(openssl rand -base64 32)   # and keep it
  relayer rotate-encryption-key --new-key-env NEW_KEY`;

/** `relayer rotate-encryption-key`: encrypts the stored secrets under another key. */
export function registerRotateEncryptionKey(program: Command): void {
  program
    .command('rotate-encryption-key')
    .description('encrypt all stored secrets of a stopped service under a new key')
    .option('--new-key-env <name>', 'the environment variable that holds the new key')
    .addHelpText('after', help)
    .action(rotate);
}

async function rotate({ newKeyEnv }: RotateOptions): Promise<void> {
  const env = processEnvironment();
  const databaseUrl = readSetting(env, 'databaseUrl');
  const oldKey = readSetting(env, 'storageEncryptionKey');
  const newKey = keyFromText(await createSecretInput().read({ what: 'new key', envName: newKeyEnv, twice: true }));
  if (newKey === oldKey) throw new CliError('the new key is the one in STORAGE_ENCRYPTION_KEY', 2);

  await checkDatabase(databaseUrl);
  const { openStore } = await import('../storage/open-store.js');
  const { createSecretBox } = await import('../storage/secret-box.js');
  const { rotateEncryptionKey } = await import('../core/access/rotate-encryption-key.js');
  const log = createLogger({ level: 'warn', destination: process.stderr });
  const { store } = await openStore(databaseUrl, { log }).catch((error: unknown) => {
    throw error instanceof DatabaseLockedError ? new CliError(`${error.message}; stop it first`, 2) : error;
  });
  try {
    const rotation = await rotateEncryptionKey({ store, from: createSecretBox(oldKey), to: createSecretBox(newKey) });
    if (rotation.kind === 'not_opened') throw notOpened(rotation.owners);
    const secrets = `${rotation.secrets} ${rotation.secrets === 1 ? 'secret' : 'secrets'}`;
    if (rotation.secrets === 0) writeLine('no secrets are stored');
    else
      writeLine(rotation.kind === 'rotated' ? `${secrets} encrypted under the new key` : `nothing to do: the new key opens all ${secrets}`);
    writeLine('start the service with the new key in STORAGE_ENCRYPTION_KEY');
  } finally {
    await store.close();
  }
}

/** Opening would make a database where there is none, and a new one has no secrets. */
async function checkDatabase(databaseUrl: string): Promise<void> {
  const { addressFromUrl } = await import('../storage/database-url.js');
  const address = addressFromUrl(databaseUrl);
  if (address.dialect !== 'sqlite') return;
  await access(address.file).catch((error: unknown) => {
    throw new CliError(`the database file ${address.file} ${fileProblem(error)}`, 2);
  });
}

function keyFromText(text: string): string {
  const parsed = base64Key(text.trim());
  if ('problem' in parsed) throw new CliError(`the new key ${parsed.problem}`, 2);
  return parsed.value;
}

/** More names than this help nobody. */
const greatestNamed = 10;

function notOpened(owners: readonly string[]): CliError {
  const named = owners.slice(0, greatestNamed).join(', ');
  const more = owners.length > greatestNamed ? ` and ${owners.length - greatestNamed} more` : '';
  return new CliError(`the key in STORAGE_ENCRYPTION_KEY does not open the secrets of ${named}${more}; nothing was changed`, 2);
}
