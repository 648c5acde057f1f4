import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { type FakeKey, fakeKey } from './fake-provider.js';
import { type ReceivedRequest, startHttpReceiver } from './http-receiver.js';

/** A server that answers as HashiCorp Vault does, with real keys, and verifies its tokens. */
export interface FakeVault {
  readonly address: string;
  readonly roleId: string;
  /** The only one that it accepts. */
  secretId: string;
  /** By path, such as `secret/data/app`. */
  readonly secrets: Map<string, object>;
  /** Transit keys by path, such as `transit/keys/app`; the newest version is the last. */
  readonly transit: Map<string, { type: string; versions: FakeKey[] }>;
  /** The namespace that requests must name; null: none. */
  namespace: string | null;
  /** The lease of a token, and how long renewals can extend it in all; both count from the login. */
  leaseSeconds: number;
  maxSeconds: number;
  /** Logins are refused. */
  isRoleRevoked: boolean;
  /** The tokens' policy does not allow to read Transit keys. */
  mayReadKeys: boolean;
  /** Answers a request instead of Vault, if it returns true. */
  intercept: ((request: ReceivedRequest, response: ServerResponse) => boolean) | null;
  /** Ends all tokens at once, as an operator can. */
  revokeTokens(): void;
  /** The number of requests whose path ends so. */
  asked(ending: string): number;
}

interface Lease {
  endsAtMs: number;
  readonly lastEndMs: number;
}

/** Starts it on a free port; it stops with the test. */
export async function startFakeVault(test: { after(release: () => void): void }): Promise<FakeVault> {
  const tokens = new Map<string, Lease>();
  const receiver = await startHttpReceiver(test, (response, request) => {
    if (vault.intercept?.(request, response) === true) return;
    const [status, body] = answerTo(request);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });

  function tokenAnswer(text: string, lease: Lease): readonly [number, object] {
    const leftSeconds = Math.max(0, Math.round((lease.endsAtMs - Date.now()) / 1_000));
    return [200, { auth: { client_token: text, lease_duration: leftSeconds, renewable: true, token_type: 'service' } }];
  }

  function login(body: Record<string, unknown>): readonly [number, object] {
    if (vault.isRoleRevoked || body.role_id !== vault.roleId || body.secret_id !== vault.secretId)
      return [400, { errors: ['invalid role or secret ID'] }];
    const text = `hvs.${randomBytes(24).toString('base64url')}`;
    const lease = { endsAtMs: Date.now() + vault.leaseSeconds * 1_000, lastEndMs: Date.now() + vault.maxSeconds * 1_000 };
    tokens.set(text, lease);
    return tokenAnswer(text, lease);
  }

  function renew(text: string, lease: Lease): readonly [number, object] {
    lease.endsAtMs = Math.min(lease.lastEndMs, Date.now() + vault.leaseSeconds * 1_000);
    return tokenAnswer(text, lease);
  }

  function answerTo({ method, path = '', headers, body: bytes }: ReceivedRequest): readonly [number, object] {
    const body: Record<string, unknown> = bytes.length === 0 ? {} : JSON.parse(bytes.toString());
    if ((headers['x-vault-namespace'] ?? null) !== vault.namespace) return [403, { errors: ['permission denied'] }];
    if (path === '/v1/auth/approle/login' && method === 'POST') return login(body);
    const text = String(headers['x-vault-token']);
    const lease = tokens.get(text);
    if (lease === undefined || lease.endsAtMs <= Date.now()) return [403, { errors: ['permission denied'] }];
    if (path === '/v1/auth/token/renew-self' && method === 'POST') return renew(text, lease);
    const name = decodeURIComponent(path.slice('/v1/'.length));
    const secret = vault.secrets.get(name);
    if (secret !== undefined && method === 'GET') return [200, { data: { data: secret, metadata: { version: 1 } } }];
    if (method === 'GET' && vault.transit.has(name)) return vault.mayReadKeys ? readKey(name) : [403, { errors: ['permission denied'] }];
    if (method === 'POST' && name.includes('/sign/')) return sign(name.replace('/sign/', '/keys/'), body);
    return [404, { errors: [] }];
  }

  function readKey(name: string): readonly [number, object] {
    const { type = '', versions = [] } = vault.transit.get(name) ?? {};
    const keys = versions.map(({ publicKey }, index) => [
      String(index + 1),
      { public_key: Buffer.from(publicKey.bytes).toString('base64'), name: type },
    ]);
    return [200, { data: { type, keys: Object.fromEntries(keys), latest_version: versions.length } }];
  }

  function sign(name: string, { input, key_version }: Record<string, unknown>): readonly [number, object] {
    const versions = vault.transit.get(name)?.versions ?? [];
    const version = Number(key_version ?? versions.length);
    const key = versions[version - 1];
    if (key === undefined || typeof input !== 'string') return [400, { errors: ['signing key not found'] }];
    const signature = Buffer.from(key.sign(Buffer.from(input, 'base64'))).toString('base64');
    return [200, { data: { key_version: version, signature: `vault:v${version}:${signature}` } }];
  }

  const vault: FakeVault = {
    address: receiver.url(''),
    roleId: 'role-id-0123456789abcdef',
    secretId: 'secret-id-fedcba9876543210',
    secrets: new Map(),
    transit: new Map(),
    namespace: null,
    leaseSeconds: 3_600,
    maxSeconds: 86_400,
    isRoleRevoked: false,
    mayReadKeys: true,
    intercept: null,
    revokeTokens: () => tokens.clear(),
    asked: (ending) => receiver.requests.filter(({ path }) => path?.endsWith(ending)).length,
  };
  return vault;
}

/** Adds a Transit key, and returns the configuration of a signer with it. */
export function transitSignerOf(
  vault: FakeVault,
  keyName: string,
  key = fakeKey('ed25519'),
): { readonly key: FakeKey; readonly config: object } {
  vault.transit.set(`transit/keys/${keyName}`, { type: 'ed25519', versions: [key] });
  return { key, config: { ...vaultAccessOf(vault), key_name: keyName, pubkey: Buffer.from(key.publicKey.bytes).toString('base64') } };
}

/** The fields of a signer's configuration in the file that every key of this Vault has. */
export function vaultAccessOf({ address, roleId, secretId }: FakeVault): object {
  const plain = (value: string) => ({ type: 'plain', value });
  return { address, role_id: plain(roleId), secret_id: plain(secretId) };
}
