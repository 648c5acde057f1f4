import type { DurationClock } from '../../core/work/clock.js';
import { secp256k1 } from '../../crypto/secp256k1.js';
import { createAccessToken } from '../hosted/access-token.js';
import { createHttpClient, type HttpClient, textAt, valueAt } from '../hosted/http-client.js';
import { type KeyProvider, ProviderError, type ProviderLimits, type PublicKey } from '../hosted/key-provider.js';
import { type AzureIdentity, createTokenIssuer } from './token-issuer.js';

/** A key of Azure Key Vault, and who may sign with it. */
export interface AzureKey {
  readonly identity: AzureIdentity;
  readonly vaultUrl: string;
  readonly keyName: string;
  /** Null: the newest at the opening. */
  readonly keyVersion: string | null;
}

const apiVersion = 'api-version=7.4';

/**
 * Makes the provider of a key of Azure Key Vault. It calls the REST API itself: signing needs three requests, for which Azure's SDK brings
 * 48 packages and 57 MB, and its credentials refuse a token service without TLS, so that no test could reach its wire.
 */
export function createAzureProvider(
  { identity, vaultUrl, keyName, keyVersion }: AzureKey,
  clock: Pick<DurationClock, 'elapsedMs'>,
  limits: ProviderLimits,
): KeyProvider {
  const http = createHttpClient({
    limits,
    secrets: () => [...identity.secrets.all(), identity.surroundings.identityHeader ?? '', issuer.secret(), ...token.secrets()],
  });
  const issuer = createTokenIssuer(identity, vaultUrl, http);
  const token = createAccessToken(issuer.issue, clock);
  const keyUrl = `${vaultUrl.replace(/\/+$/, '')}/keys/${encodeURIComponent(keyName)}`;
  /** Named in each request, so that a rotation does not change the key under way; null: not known. */
  let version = keyVersion;

  function send(path: string, body: object | null, signal: AbortSignal): Promise<unknown> {
    return token.use(async (text) => {
      const wanted = { url: `${keyUrl}${path}?${apiVersion}`, headers: { authorization: `Bearer ${text}` } };
      const request =
        body === null ? { ...wanted, method: 'GET' as const } : { ...wanted, method: 'POST' as const, body: JSON.stringify(body) };
      return (await http.send(request, signal)).json;
    });
  }

  async function readKey(signal: AbortSignal): Promise<{ readonly key: PublicKey; readonly version: string }> {
    const answer = await send(keyVersion === null ? '' : `/${keyVersion}`, null, signal);
    const key = publicKeyFrom(answer, http.shown);
    const [, found] = /\/keys\/[^/]+\/([A-Za-z0-9]{1,64})$/.exec(textAt(answer, 'key', 'kid') ?? '') ?? [];
    if (found === undefined) throw new ProviderError('unreachable', 'the answer has no version of the key');
    return { key, version: keyVersion ?? found };
  }

  return {
    name: 'Azure Key Vault',
    account: `azure_key_vault ${vaultUrl}`,
    limits,
    form: 'fixed',
    async publicKey(signal) {
      const read = await readKey(signal);
      version = read.version;
      return read.key;
    },
    async sign(digest, signal) {
      // Unknown after a start without Azure.
      version ??= (await readKey(signal)).version;
      const input = { alg: 'ES256K', value: Buffer.from(digest).toString('base64url') };
      const signature = textAt(await send(`/${version}/sign`, input, signal), 'value');
      if (signature === undefined) throw new ProviderError('unreachable', 'the answer has no signature');
      return Buffer.from(signature, 'base64url');
    },
    close: () => http.close(),
  };
}

/** Reads the public key of an answer. Throws `ProviderError` if the key cannot sign for EVM networks. */
function publicKeyFrom(answer: unknown, shown: HttpClient['shown']): PublicKey {
  const [type, curve] = [textAt(answer, 'key', 'kty'), textAt(answer, 'key', 'crv')];
  if (type === undefined) throw new ProviderError('unreachable', 'the answer has no key');
  if (!['EC', 'EC-HSM'].includes(type) || curve !== 'P-256K') {
    const found = [type, curve].filter((part) => part !== undefined).join(' ');
    throw new ProviderError(
      'refused',
      `the key is of type ${shown(found)}; must be EC or EC-HSM on the curve P-256K. Azure Key Vault has no ed25519 keys`,
    );
  }
  if (valueAt(answer, 'attributes', 'enabled') === false) throw new ProviderError('refused', 'the key is disabled');
  const operations = valueAt(answer, 'key', 'key_ops');
  if (Array.isArray(operations) && !operations.includes('sign'))
    throw new ProviderError('refused', 'the key may not be used to sign; allow the operation "sign"');
  const [x, y] = ['x', 'y'].map((part) => Buffer.from(textAt(answer, 'key', part) ?? '', 'base64url'));
  const bytes = Buffer.concat([Buffer.of(4), x ?? Buffer.of(), y ?? Buffer.of()]);
  if (x?.length !== 32 || bytes.length !== 65 || !secp256k1.publicKeyVerify(bytes))
    throw new ProviderError('unreachable', 'the answer has no valid public key');
  return { curve: 'secp256k1', bytes };
}
