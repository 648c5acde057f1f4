import { textAt } from '../hosted/http-client.js';
import { ProviderError } from '../hosted/key-provider.js';
import { type VaultClient, vaultPath } from './vault-client.js';

/**
 * Reads a private key from a secret of the KV engine, version 2: 64 hex digits in its field `value`. The caller should overwrite the 32
 * bytes after use.
 */
export async function readKey(client: VaultClient, mountPoint: string, keyName: string, signal: AbortSignal): Promise<Buffer> {
  const answer = await client.call(vaultPath(mountPoint, 'data', keyName), null, signal);
  const value = textAt(answer, 'data', 'data', 'value')?.trim().replace(/^0x/, '');
  if (value === undefined) throw new ProviderError('refused', 'the secret has no field "value" with a text');
  if (!/^[0-9a-fA-F]{64}$/.test(value)) throw new ProviderError('refused', 'the field "value" of the secret is not 64 hex digits');
  return Buffer.from(value, 'hex');
}
