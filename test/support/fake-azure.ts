import { createPublicKey, generateKeyPairSync, randomBytes, randomUUID, sign as signBytes, verify } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { type FakeKey, fakeKey, otherS } from './fake-provider.js';
import { type ReceivedRequest, startHttpReceiver } from './http-receiver.js';

/** A version of a key in the fake vault. */
export interface FakeAzureVersion {
  readonly version: string;
  key: FakeKey;
  /** Overrides parts of the answer that describes the key. */
  described?: { readonly kty?: string; readonly crv?: string; readonly key_ops?: readonly string[]; readonly enabled?: boolean };
}

/**
 * A server that answers as Microsoft's token service, the metadata services of machines and of App Service, and Key Vault do, with real keys. It verifies secrets,
 * assertions, and for each call the token.
 */
export interface FakeAzure {
  readonly url: string;
  readonly tenantId: string;
  readonly clientId: string;
  /** The only one that it accepts. */
  clientSecret: string;
  /** By name; the newest version is the last. */
  readonly keys: Map<string, FakeAzureVersion[]>;
  /** The life of a token. */
  tokenSeconds: number;
  /** The identity may not use the vault. */
  isDenied: boolean;
  /** All tokens so far, valid or not. */
  readonly tokens: string[];
  /** The secret of App Service's endpoint. */
  readonly identityHeader: string;
  /** Answers a request to the vault instead of it, if it returns true. */
  intercept: ((request: ReceivedRequest, response: ServerResponse) => boolean) | null;
  /** Ends all tokens at once. */
  revokeTokens(): void;
  /** Makes the token that Kubernetes writes to a file, valid for so long. */
  federatedToken(seconds: number): string;
  /** The number of requests whose path, without the query, ends so. */
  asked(ending: string): number;
}

type Answer = readonly [status: number, body: object, headers?: Readonly<Record<string, string>>];

const issuer = 'https://oidc.example.com/cluster';
const cluster = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const resource = 'https://vault.azure.net';

/** Starts it on a free port; it stops with the test. */
export async function startFakeAzure(test: { after(release: () => void): void }): Promise<FakeAzure> {
  const valid = new Map<string, number>();
  let signatures = 0;
  const receiver = await startHttpReceiver(test, (response, request) => {
    const isVault = request.path?.startsWith('/keys/') === true;
    if (isVault && azure.intercept?.(request, response) === true) return;
    const [status, body, headers = {}] = isVault ? answerTo(request) : grant(request);
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  });

  function issue(more: (seconds: number) => object): Answer {
    const token = `eyJ0.${randomBytes(32).toString('base64url')}`;
    azure.tokens.push(token);
    valid.set(token, Date.now() + azure.tokenSeconds * 1_000);
    return [200, { access_token: token, token_type: 'Bearer', ...more(azure.tokenSeconds) }];
  }

  function grant({ method, path = '', headers, body }: ReceivedRequest): Answer {
    const { pathname, searchParams } = new URL(path, azure.url);
    if (pathname === `/${azure.tenantId}/oauth2/v2.0/token` && method === 'POST') {
      const refusal = refusalOf(new URLSearchParams(body.toString()), headers['content-type'], azure);
      return refusal ?? issue((seconds) => ({ expires_in: seconds, ext_expires_in: seconds }));
    }
    const clientId = searchParams.get('client_id');
    const isOurs = method === 'GET' && searchParams.get('resource') === resource && [null, azure.clientId].includes(clientId);
    const endsAt = (seconds: number) => String(Math.floor(Date.now() / 1_000) + seconds);
    if (pathname === '/metadata/identity/oauth2/token') {
      if (headers.metadata !== 'true' || searchParams.get('api-version') !== '2018-02-01' || !isOurs)
        return [400, { error: 'invalid_request', error_description: 'Identity not found' }];
      return issue((seconds) => ({ expires_in: String(seconds), expires_on: endsAt(seconds), resource }));
    }
    if (pathname !== '/msi/token' || searchParams.get('api-version') !== '2019-08-01' || !isOurs) return [404, {}];
    if (headers['x-identity-header'] !== azure.identityHeader) return [401, { message: 'The request header is missing or wrong' }];
    return issue((seconds) => ({ expires_on: endsAt(seconds), resource }));
  }

  function answerTo({ method, path = '', headers, body }: ReceivedRequest): Answer {
    const { pathname, searchParams } = new URL(path, azure.url);
    const endsAtMs = valid.get(String(headers.authorization).replace(/^Bearer /, '')) ?? 0;
    if (endsAtMs <= Date.now()) {
      const challenge = `Bearer authorization="https://login.microsoftonline.com/${azure.tenantId}", resource="${resource}"`;
      return [
        401,
        { error: { code: 'Unauthorized', message: 'AKV10000: Request is missing a Bearer or PoP token.' } },
        { 'www-authenticate': challenge },
      ];
    }
    if (searchParams.get('api-version') !== '7.4') return [400, { error: { code: 'BadParameter', message: 'api-version' } }];
    if (azure.isDenied) return [403, { error: { code: 'Forbidden', message: 'Caller is not authorized to perform action on resource.' } }];
    const [, name = '', version, action] = /^\/keys\/([^/]+)(?:\/([^/]+))?(\/sign)?$/.exec(pathname) ?? [];
    const versions = azure.keys.get(decodeURIComponent(name)) ?? [];
    const found = version === undefined ? versions.at(-1) : versions.find((one) => one.version === version);
    if (found === undefined)
      return [404, { error: { code: 'KeyNotFound', message: `A key with (name/id) ${name}/${version} was not found` } }];
    const kid = `${azure.url}/keys/${name}/${found.version}`;
    if (action === undefined && method === 'GET') return [200, described(kid, found)];
    return action === '/sign' && method === 'POST' ? sign(kid, found, JSON.parse(body.toString())) : [405, {}];
  }

  function sign(kid: string, { key, described: { enabled = true } = {} }: FakeAzureVersion, input: Record<string, unknown>): Answer {
    if (!enabled) return [403, { error: { code: 'Forbidden', message: 'Operation sign is not allowed on a disabled key.' } }];
    const digest = Buffer.from(String(input.value), 'base64url');
    if (input.alg !== 'ES256K' || digest.length !== 32 || /[+/=]/.test(String(input.value)))
      return [400, { error: { code: 'BadParameter', message: `Key and signing algorithm are incompatible: ${input.alg}` } }];
    signatures += 1;
    const right = key.sign(digest);
    return [200, { kid, value: Buffer.from(signatures % 2 === 0 ? right : otherS(right)).toString('base64url') }];
  }

  const azure: FakeAzure = {
    url: receiver.url(''),
    tenantId: randomUUID(),
    clientId: randomUUID(),
    clientSecret: `secret~${randomBytes(16).toString('base64url')}`,
    keys: new Map(),
    tokenSeconds: 3_599,
    isDenied: false,
    tokens: [],
    identityHeader: randomBytes(16).toString('hex'),
    intercept: null,
    revokeTokens: () => valid.clear(),
    federatedToken: (seconds) => federatedToken(seconds),
    asked: (ending) => receiver.requests.filter(({ path }) => path?.split('?')[0]?.endsWith(ending)).length,
  };
  return azure;
}

/** Adds a version of a key, and returns it. */
export function addAzureKey(azure: FakeAzure, name: string, key = fakeKey('secp256k1')): FakeAzureVersion {
  const made = { version: randomBytes(16).toString('hex'), key };
  azure.keys.set(name, [...(azure.keys.get(name) ?? []), made]);
  return made;
}

/** The environment variables that lead the service to the fake's token services. */
export function azureVariablesOf({ url }: FakeAzure): Readonly<Record<string, string>> {
  return { AZURE_AUTHORITY_HOST: url, AZURE_IMDS_TOKEN_URL: `${url}/metadata/identity/oauth2/token` };
}

function described(kid: string, { key, described: { enabled = true, ...changes } = {} }: FakeAzureVersion): object {
  const [x, y] = [key.publicKey.bytes.subarray(1, 33), key.publicKey.bytes.subarray(33)].map((part) =>
    Buffer.from(part).toString('base64url'),
  );
  return { key: { kid, kty: 'EC', key_ops: ['sign', 'verify'], crv: 'P-256K', x, y, ...changes }, attributes: { enabled } };
}

/** Verifies a request of the client credentials flow as Microsoft documents it. Returns the refusal; null: it is right. */
function refusalOf(form: URLSearchParams, contentType: string | undefined, { clientId, clientSecret }: FakeAzure): Answer | null {
  const refuse = (error: string, error_description: string): Answer => [
    error === 'invalid_client' ? 401 : 400,
    { error, error_description },
  ];
  if (contentType !== 'application/x-www-form-urlencoded') return refuse('invalid_request', 'AADSTS900144');
  if (form.get('grant_type') !== 'client_credentials') return refuse('unsupported_grant_type', 'AADSTS70003');
  if (form.get('scope') !== `${resource}/.default`) return refuse('invalid_scope', 'AADSTS70011');
  if (form.get('client_id') !== clientId)
    return refuse('unauthorized_client', `AADSTS700016: Application with identifier '${form.get('client_id')}'`);
  if (form.has('client_secret'))
    return form.get('client_secret') === clientSecret
      ? null
      : refuse('invalid_client', `AADSTS7000215: Invalid client secret provided: ${form.get('client_secret')}`);
  const isJwt = form.get('client_assertion_type') === 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
  if (isJwt && isFederated(form.get('client_assertion') ?? '')) return null;
  return refuse('invalid_client', `AADSTS700211: No matching federated identity record found: ${form.get('client_assertion')}`);
}

function federatedToken(seconds: number): string {
  const iat = Math.floor(Date.now() / 1_000);
  const claims = {
    iss: issuer,
    sub: 'system:serviceaccount:relayer:relayer',
    aud: ['api://AzureADTokenExchange'],
    iat,
    exp: iat + seconds,
    jti: randomUUID(),
  };
  const signed = [{ alg: 'RS256', kid: 'cluster' }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  return `${signed}.${signBytes('sha256', Buffer.from(signed), cluster.privateKey).toString('base64url')}`;
}

function isFederated(text: string): boolean {
  const [header = '', claims = '', signature = ''] = text.split('.');
  const key = createPublicKey(cluster.privateKey);
  if (!verify('sha256', Buffer.from(`${header}.${claims}`), key, Buffer.from(signature, 'base64url'))) return false;
  const { iss, aud, exp } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as Record<string, unknown>;
  return iss === issuer && Array.isArray(aud) && aud.includes('api://AzureADTokenExchange') && Number(exp) * 1_000 > Date.now();
}
