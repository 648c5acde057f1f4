import type { Command } from 'commander';
import { processEnvironment } from '../config/environment.js';
import { base64Key } from '../config/setting-parsers.js';
import { readSetting } from '../config/settings.js';
import { createLogger } from '../observability/logger.js';
import { checkDatabaseExists } from './check-database-exists.js';
import { CliError } from './terminal/cli-error.js';
import { writeLine } from './terminal/output.js';
import { createSecretReader } from './terminal/read-secret.js';

interface RotateOptions {
  readonly newKeyEnv?: string;
}

const help = `
Stop the service first. Reads DATABASE_URL, and the current key from STORAGE_ENCRYPTION_KEY. The new key comes from the
variable that --new-key-env names. Without that option, the command asks for it, or reads it from standard input if that
is a pipe. Create a key with openssl rand -base64 32, and save it. The rotation is one commit: if it fails, nothing has
changed. Earlier backups still need the old key.

Example:
  NEW_KEY=... relayer rotate-encryption-key --new-key-env NEW_KEY`;

/** `relayer rotate-encryption-key`: encrypts the stored secrets with a new key. */
export function registerRotateEncryptionKey(program: Command): void {
  program
    .command('rotate-encryption-key')
    .description('encrypt all stored secrets with a new key; the service must be stopped')
    .option('--new-key-env <name>', 'the environment variable that holds the new key')
    .addHelpText('after', help)
    .action(rotate);
}

async function rotate({ newKeyEnv }: RotateOptions): Promise<void> {
  const env = processEnvironment();
  const databaseUrl = readSetting(env, 'databaseUrl');
  const oldKey = readSetting(env, 'storageEncryptionKey');
  const newKey = keyFromText(await createSecretReader()({ what: 'new key', envName: newKeyEnv, twice: true }));
  if (newKey === oldKey) throw new CliError('the new key is the same as STORAGE_ENCRYPTION_KEY; create a different one', 2);

  await checkDatabaseExists(databaseUrl);
  const { openStore } = await import('../storage/open-store.js');
  const { createSecretBox } = await import('../storage/secret-box.js');
  const { rotateEncryptionKey } = await import('../core/access/rotate-encryption-key.js');
  const log = createLogger({ level: 'warn', destination: process.stderr });
  const { store } = await openStore(databaseUrl, { log });
  try {
    const rotation = await rotateEncryptionKey({ store, from: createSecretBox(oldKey), to: createSecretBox(newKey) });
    if (rotation.kind === 'not_opened') throw notOpened(rotation.owners);
    const secrets = `${rotation.secrets} ${rotation.secrets === 1 ? 'secret' : 'secrets'}`;
    if (rotation.secrets === 0) writeLine('the database holds no secrets');
    else if (rotation.kind === 'rotated') writeLine(`encrypted ${secrets} with the new key`);
    else writeLine(`nothing to rotate: the new key already decrypts all ${secrets}`);
    writeLine('start the service with the new key in STORAGE_ENCRYPTION_KEY');
  } finally {
    await store.close();
  }
}

function keyFromText(text: string): string {
  const parsed = base64Key(text.trim());
  if ('problem' in parsed) throw new CliError(`the new key ${parsed.problem}`, 2);
  return parsed.value;
}

/** The error message names at most this many owners. */
const maxNamedOwners = 10;

function notOpened(owners: readonly string[]): CliError {
  const named = owners.slice(0, maxNamedOwners).join(', ');
  const more = owners.length > maxNamedOwners ? ` and ${owners.length - maxNamedOwners} more` : '';
  return new CliError(`STORAGE_ENCRYPTION_KEY does not decrypt the secrets of ${named}${more}; nothing was changed`, 2);
}
