import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createEd25519Keystore } from '../../signers/local/ed25519-keystore.js';
import { createKeystore } from '../../signers/local/keystore.js';

/** What the sandbox keeps from one start to the next: its secrets and its keys. None of it is worth anything elsewhere. */
export interface SandboxHome {
  readonly databaseUrl: string;
  readonly apiKey: string;
  readonly storageEncryptionKey: string;
  readonly webhookSigningKey: string;
  /** For EVM networks. */
  readonly secp256k1KeystorePath: string;
  /** For Stellar and Solana. */
  readonly ed25519KeystorePath: string;
  /** Of both keystores. */
  readonly passphrase: string;
  /** True when an earlier start left one. */
  hasDatabase(): boolean;
  /** Puts the database aside, as the one before this one; the next start makes a new one. */
  renewDatabase(): Promise<void>;
}

/** Opens the sandbox's folder, and makes what is missing. Files are readable by their owner only. */
export async function openSandboxHome(dir: string): Promise<SandboxHome> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const database = join(dir, 'relayer.db');
  const secp256k1KeystorePath = join(dir, 'keystore.json');
  const ed25519KeystorePath = join(dir, 'ed25519-keystore.json');
  const passphrase = await kept(join(dir, 'keystore-passphrase'), () => randomBytes(24).toString('base64url'));
  await kept(secp256k1KeystorePath, () => createKeystore(randomBytes(32), passphrase));
  await kept(ed25519KeystorePath, () => createEd25519Keystore(randomBytes(32), passphrase));
  return {
    databaseUrl: `sqlite:${database}`,
    apiKey: await kept(join(dir, 'api-key'), () => randomBytes(24).toString('hex')),
    storageEncryptionKey: await kept(join(dir, 'storage-encryption-key'), () => randomBytes(32).toString('base64')),
    webhookSigningKey: await kept(join(dir, 'webhook-signing-key'), () => randomBytes(24).toString('hex')),
    secp256k1KeystorePath,
    ed25519KeystorePath,
    passphrase,
    hasDatabase: () => existsSync(database),
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
