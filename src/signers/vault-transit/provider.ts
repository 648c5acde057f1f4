import { HttpError, textAt, valueAt } from '../hosted/http-client.js';
import { type KeyProvider, ProviderError } from '../hosted/key-provider.js';
import { provenKey } from '../hosted/signature.js';
import { type VaultClient, vaultPath } from '../vault/vault-client.js';

/** A key of the Transit engine. */
export interface TransitKey {
  /** Keys with the same text share the limits of their Vault. */
  readonly account: string;
  readonly mountPoint: string;
  readonly keyName: string;
  /** The configured public key: base64 of 32 bytes. */
  readonly pubkey: string;
}

const name = 'Vault Transit';

/** Makes the provider of an ed25519 key of the Transit engine. */
export function createTransitProvider(client: VaultClient, { account, mountPoint, keyName, pubkey }: TransitKey): KeyProvider {
  /** The version of the key that has the configured public key; null: not known. */
  let version: number | null = null;
  return {
    name,
    account,
    limits: client.limits,
    form: 'fixed',
    async publicKey(signal) {
      const bytes = Buffer.from(pubkey, 'base64');
      if (bytes.length !== 32) throw new ProviderError('refused', `pubkey is base64 of ${bytes.length} bytes; must be 32 bytes`);
      const key = await client.call(vaultPath(mountPoint, 'keys', keyName), null, signal).catch((error: unknown) => {
        // A policy may allow to sign and not to read the key. Then only a signature shows whether pubkey is right.
        if (error instanceof HttpError && error.status === 403) return null;
        throw error;
      });
      const publicKey = { curve: 'ed25519', bytes } as const;
      if (key !== null) version = versionOf(key, bytes, client.shown);
      else if ((await provenKey([publicKey], (message) => sign(message, signal))) === undefined)
        throw new ProviderError('refused', `pubkey is ${pubkey}, but the newest version of the key has another public key`);
      return publicKey;
    },
    sign,
    close: () => client.close(),
  };

  async function sign(message: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
    const body = { input: Buffer.from(message).toString('base64'), ...(version === null ? {} : { key_version: version }) };
    const answer = await client.call(vaultPath(mountPoint, 'sign', keyName), body, signal);
    const [, signature] = /^vault:v[0-9]+:([A-Za-z0-9+/]+={0,2})$/.exec(textAt(answer, 'data', 'signature') ?? '') ?? [];
    if (signature === undefined) throw new ProviderError('unreachable', 'the answer has no signature');
    return Buffer.from(signature, 'base64');
  }
}

/** Returns the version of the key that has this public key: a rotated key signs with its newest version unless one is named. */
function versionOf(key: unknown, publicKey: Buffer, shown: VaultClient['shown']): number {
  const type = textAt(key, 'data', 'type');
  if (type !== 'ed25519') {
    const why = `the key is of type ${shown(type ?? 'unknown')}; Vault Transit signs for Stellar and Solana with ed25519 keys, and has no secp256k1 keys for EVM networks`;
    throw new ProviderError('refused', why);
  }
  const versions = valueAt(key, 'data', 'keys');
  const found: string[] = [];
  for (const number of typeof versions === 'object' && versions !== null ? Object.keys(versions) : []) {
    const text = textAt(versions, number, 'public_key') ?? '';
    if (Buffer.from(text, 'base64').equals(publicKey)) return Number(number);
    found.push(text);
  }
  throw new ProviderError(
    'refused',
    `pubkey is ${publicKey.toString('base64')}, but the key has the public key ${shown(found.at(-1) ?? 'of no version')}`,
  );
}
