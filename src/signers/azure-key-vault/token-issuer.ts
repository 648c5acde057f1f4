import { readFile } from 'node:fs/promises';
import type { AzureAuthType } from '../../core/signer/hosted-key.js';
import type { IssuedToken } from '../hosted/access-token.js';
import { type HttpClient, type HttpRequest, textAt, valueAt } from '../hosted/http-client.js';
import { askWithin, ProviderError } from '../hosted/key-provider.js';
import type { LiveSecrets } from '../hosted/live-secrets.js';
import { cloudOf } from './clouds.js';

/** The settings of the machine or container for the identity that the service runs as; null: not set. */
export interface AzureSurroundings {
  /** The URL that issues tokens, if another cloud than the vault's does. */
  readonly authorityHost: string | null;
  /** The file of Kubernetes' token. */
  readonly federatedTokenFile: string | null;
  /** The URL of the instance metadata service, if it is not the usual one. */
  readonly imdsTokenUrl: string | null;
  /** App Service and Container Apps issue tokens here instead of the instance metadata service. */
  readonly identityEndpoint: string | null;
  /** Secret. */
  readonly identityHeader: string | null;
}

/** The identity that signs in to Azure. */
export interface AzureIdentity {
  readonly authType: AzureAuthType;
  readonly tenantId: string | null;
  readonly clientId: string | null;
  /** `federated_token_file` overrides the file of the surroundings. */
  readonly secrets: LiveSecrets<{ readonly client_secret?: string; readonly federated_token_file?: string }>;
  readonly surroundings: AzureSurroundings;
}

/** Creates the token issuer of an identity for a vault. `secret` returns the last assertion, which errors must not contain. */
export function createTokenIssuer(
  identity: AzureIdentity,
  vaultUrl: string,
  http: HttpClient,
): { readonly issue: () => Promise<IssuedToken>; readonly secret: () => string } {
  let assertion = '';
  return {
    async issue() {
      if (identity.authType === 'workload_identity') assertion = await assertionFrom(identity);
      const request =
        identity.authType === 'managed_identity' ? machineRequest(identity, vaultUrl) : formRequest(identity, vaultUrl, assertion);
      return tokenFrom((await askWithin(issueMs, (signal) => http.send(request, signal))).json);
    },
    secret: () => assertion,
  };
}

const issueMs = 5_000;
/** How long a token is used whose answer does not say when it ends. */
const unknownLifeMs = 300_000;
const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** Kubernetes replaces the file before its token ends. */
async function assertionFrom({ secrets, surroundings }: AzureIdentity): Promise<string> {
  const file = secrets.now().federated_token_file ?? surroundings.federatedTokenFile;
  if (file === null) throw new ProviderError('refused', 'federated_token_file is required, because AZURE_FEDERATED_TOKEN_FILE is not set');
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new ProviderError('unreachable', `the federated token file cannot be read: ${error.code}`);
  });
  if (text.trim() === '') throw new ProviderError('unreachable', 'the federated token file is empty');
  return text.trim();
}

/** The client credentials flow of OAuth 2.0. */
function formRequest(identity: AzureIdentity, vaultUrl: string, assertion: string): HttpRequest {
  const { authType, tenantId, clientId, secrets, surroundings } = identity;
  const { authority, resource } = cloudOf(vaultUrl);
  const host = (surroundings.authorityHost ?? authority).replace(/\/+$/, '');
  const proof =
    authType === 'client_secret'
      ? { client_secret: secrets.now().client_secret ?? '' }
      : { client_assertion_type: assertionType, client_assertion: assertion };
  const form = { grant_type: 'client_credentials', client_id: clientId ?? '', scope: `${resource}/.default`, ...proof };
  return {
    method: 'POST',
    url: `${host}/${encodeURIComponent(tenantId ?? '')}/oauth2/v2.0/token`,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(form).toString(),
  };
}

/** The machine's metadata service, or App Service's, gives a token to every process on it. */
function machineRequest({ clientId, surroundings }: AzureIdentity, vaultUrl: string): HttpRequest {
  const { imdsTokenUrl, identityEndpoint, identityHeader } = surroundings;
  const isAppService = identityEndpoint !== null && identityHeader !== null;
  const url = new URL(isAppService ? identityEndpoint : (imdsTokenUrl ?? 'http://169.254.169.254/metadata/identity/oauth2/token'));
  url.searchParams.set('api-version', isAppService ? '2019-08-01' : '2018-02-01');
  url.searchParams.set('resource', cloudOf(vaultUrl).resource);
  if (clientId !== null) url.searchParams.set('client_id', clientId);
  return { method: 'GET', url: url.href, headers: isAppService ? { 'x-identity-header': identityHeader } : { metadata: 'true' } };
}

function tokenFrom(json: unknown): IssuedToken {
  const text = textAt(json, 'access_token');
  if (text === undefined || text === '') throw new ProviderError('unreachable', 'the token service returned no access token');
  const seconds = Number(valueAt(json, 'expires_in') ?? Number.NaN);
  const endsAt = Number(valueAt(json, 'expires_on') ?? Number.NaN);
  const lifeMs = Number.isFinite(seconds) ? seconds * 1_000 : Number.isFinite(endsAt) ? endsAt * 1_000 - Date.now() : unknownLifeMs;
  return { text, lifeMs: Math.max(0, lifeMs) };
}
