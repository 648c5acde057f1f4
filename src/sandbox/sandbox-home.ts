import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Keystore } from '../core/signer/signers.js';
import { createEd25519Keystore } from '../signers/local/ed25519-keystore.js';
import { createKeystore } from '../signers/local/keystore.js';
import { keystoreFrom } from '../signers/local/open-signer.js';

/** The secrets and keys that the sandbox keeps between starts. They protect nothing of value. */
export interface SandboxHome {
  readonly databaseUrl: string;
  readonly apiKey: string;
  readonly storageEncryptionKey: string;
  readonly webhookSigningKey: string;
  /** For EVM networks. */
  readonly secp256k1Keystore: Keystore;
  /** For Stellar and Solana. */
  readonly ed25519Keystore: Keystore;
  /** Opens both keystores. */
  readonly passphrase: string;
  /** Returns true if an earlier start left a database. */
  hasDatabase(): boolean;
  /** Renames the database to `relayer.previous.db`, so that the service creates a new one. */
  renewDatabase(): Promise<void>;
}

/** Opens the sandbox's folder and creates missing files. Only their owner can read them. */
export async function openSandboxHome(dir: string): Promise<SandboxHome> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const database = join(dir, 'relayer.db');
  const passphrase = await readOrCreate(join(dir, 'keystore-passphrase'), () => randomBytes(24).toString('base64url'));
  const secp256k1 = await readOrCreate(join(dir, 'keystore.json'), () => createKeystore(randomBytes(32), passphrase));
  const ed25519 = await readOrCreate(join(dir, 'ed25519-keystore.json'), () => createEd25519Keystore(randomBytes(32), passphrase));
  return {
    databaseUrl: `sqlite:${database}`,
    apiKey: await readOrCreate(join(dir, 'api-key'), () => randomBytes(24).toString('hex')),
    storageEncryptionKey: await readOrCreate(join(dir, 'storage-encryption-key'), () => randomBytes(32).toString('base64')),
    webhookSigningKey: await readOrCreate(join(dir, 'webhook-signing-key'), () => randomBytes(24).toString('hex')),
    secp256k1Keystore: keystoreFrom(secp256k1),
    ed25519Keystore: keystoreFrom(ed25519),
    passphrase,
    hasDatabase: () => existsSync(database),
    async renewDatabase() {
      for (const suffix of ['-wal', '-shm']) await rm(database + suffix, { force: true });
      await rename(database, join(dir, 'relayer.previous.db'));
    },
  };
}

async function readOrCreate(file: string, create: () => string | Promise<string>): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    const text = await create();
    await writeFile(file, `${text}\n`, { mode: 0o600, flag: 'wx' });
    return text;
  }
}
