import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createKeystore } from '../../signers/local/keystore.js';

/** What the sandbox keeps from one start to the next: its secrets and its key. None of it is worth anything elsewhere. */
export interface SandboxHome {
  readonly databaseUrl: string;
  readonly apiKey: string;
  readonly storageEncryptionKey: string;
  readonly webhookSigningKey: string;
  readonly keystorePath: string;
  readonly passphrase: string;
  /** Puts the database aside, as the one before this one; the next start makes a new one. */
  renewDatabase(): Promise<void>;
}

/** Opens the sandbox's folder, and makes what is missing. Files are readable by their owner only. */
export async function openSandboxHome(dir: string): Promise<SandboxHome> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const database = join(dir, 'relayer.db');
  const keystorePath = join(dir, 'keystore.json');
  const passphrase = await kept(join(dir, 'keystore-passphrase'), () => randomBytes(24).toString('base64url'));
  await kept(keystorePath, () => createKeystore(randomBytes(32), passphrase));
  return {
    databaseUrl: `sqlite:${database}`,
    apiKey: await kept(join(dir, 'api-key'), () => randomBytes(24).toString('hex')),
    storageEncryptionKey: await kept(join(dir, 'storage-encryption-key'), () => randomBytes(32).toString('base64')),
    webhookSigningKey: await kept(join(dir, 'webhook-signing-key'), () => randomBytes(24).toString('hex')),
    keystorePath,
    passphrase,
    async renewDatabase() {
      for (const suffix of ['-wal', '-shm']) await rm(database + suffix, { force: true });
      await rename(database, join(dir, 'relayer.previous.db'));
    },
  };
}

async function kept(file: string, make: () => string | Promise<string>): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    const text = await make();
    await writeFile(file, `${text}\n`, { mode: 0o600, flag: 'wx' });
    return text;
  }
}
