import { type FieldProblem, throwProblems } from '../errors/errors.js';
import type { NodeUrlPolicy } from '../network/node-url-policy.js';
import type { Definition } from '../records/definition.js';
import type { Curve, NetworkType } from '../records/network.js';
import { httpUrlFrom } from '../text/http-url.js';
import { syntaxes } from '../text/text-syntax.js';

/** The keys of HashiCorp Vault: where they are, and the AppRole that may use them. */
interface VaultKey {
  readonly at: { readonly address: string; readonly namespace?: string; readonly mount_point?: string; readonly key_name: string };
  readonly secrets: { readonly role_id: string; readonly secret_id: string };
}

/** A key in an HSM: one of `token_label` and `slot`, and one of `key_label` and `key_id`. */
interface Pkcs11Key {
  readonly at: {
    readonly module_path: string;
    readonly token_label?: string;
    readonly slot?: number;
    readonly key_label?: string;
    /** Hex. */
    readonly key_id?: string;
  };
  readonly secrets: { readonly pin: string };
}

/** A key of AWS KMS. The AWS SDK finds the credentials in the environment. */
interface AwsKmsKey {
  readonly at: { readonly region: string; readonly key_id: string };
  readonly secrets: Readonly<Record<string, never>>;
}

/** A key of Turnkey, and the API key that may sign with it. */
interface TurnkeyKey {
  readonly at: {
    readonly api_public_key: string;
    readonly organization_id: string;
    readonly private_key_id: string;
    readonly public_key: string;
    readonly api_base_url?: string;
  };
  readonly secrets: { readonly api_private_key: string };
}

/** A key of Google Cloud KMS, and the service account that may sign with it. Fields of nested messages have their path as their name. */
interface GoogleCloudKmsKey {
  readonly at: {
    readonly 'service_account.project_id': string;
    readonly 'service_account.token_uri'?: string;
    readonly 'service_account.universe_domain'?: string;
    readonly 'key.location'?: string;
    readonly 'key.key_ring_id': string;
    readonly 'key.key_id': string;
    readonly 'key.key_version'?: number;
    readonly endpoint?: string;
  };
  readonly secrets: {
    readonly 'service_account.private_key_id': string;
    readonly 'service_account.private_key': string;
    readonly 'service_account.client_email': string;
  };
}

/** How the service signs in to Azure. */
export type AzureAuthType = 'client_secret' | 'managed_identity' | 'workload_identity';

/** A key of Azure Key Vault, and the application or identity that may sign with it. */
interface AzureKeyVaultKey {
  readonly at: {
    readonly auth_type?: AzureAuthType;
    readonly tenant_id?: string;
    readonly client_id?: string;
    readonly vault_url: string;
    readonly key_name: string;
    readonly key_version?: string;
  };
  readonly secrets: { readonly client_secret?: string; readonly federated_token_file?: string };
}

/** An account of the Coinbase Developer Platform, and the secrets that may sign with it. */
interface CdpKey {
  readonly at: { readonly api_key_id: string; readonly account_address: string; readonly api_base_url?: string };
  readonly secrets: { readonly api_key_secret: string; readonly wallet_secret: string };
}

/**
 * The configuration of each kind of hosted key, by the field names of the definitions: `at` identifies the key and may be shown, `secrets`
 * may not.
 */
interface HostedKeys {
  readonly vault: VaultKey;
  readonly vault_transit: VaultKey & { readonly at: { readonly pubkey: string } };
  readonly pkcs11: Pkcs11Key;
  readonly aws_kms: AwsKmsKey;
  readonly google_cloud_kms: GoogleCloudKmsKey;
  readonly azure_key_vault: AzureKeyVaultKey;
  readonly turnkey: TurnkeyKey;
  readonly cdp: CdpKey;
}

/** The kinds of keys outside of the service. */
export type HostedType = keyof HostedKeys;

/** How many calls each account of a provider gets. */
export interface ConfiguredLimits {
  /** The maximum number of calls at once. */
  readonly parallel: number;
  /** The maximum number of calls per second; absent: the default of the kind. */
  readonly perSecond?: number;
}

/** The limits that are configured, by kind; a kind that is absent has its defaults. */
export type SignerLimits = ReadonlyMap<HostedType, ConfiguredLimits>;

/** Where a key outside of the service is, and how the service may use it. */
export type HostedKey = { readonly [T in HostedType]: { readonly type: T } & HostedKeys[T] }[HostedType];

/** What identifies a hosted key, without secrets. */
export type HostedKeyPlace = Pick<HostedKey, 'type' | 'at'>;

/** Throws `FIELD_INVALID` if a key cannot be configured like this. What one field may contain is its syntax in the definitions. */
export function requireConsistent(key: HostedKey): void {
  throwProblems([...urlProblems(key), ...((problemsOf[key.type] as ((key: HostedKey) => FieldProblem[]) | undefined) ?? (() => []))(key)]);
}

/** The rules of the kinds of keys that have some. */
const problemsOf: { readonly [T in HostedType]?: (key: Extract<HostedKey, { type: T }>) => FieldProblem[] } = {
  vault: vaultProblems,
  vault_transit: vaultProblems,
  pkcs11: pkcs11Problems,
  aws_kms: awsProblems,
  azure_key_vault: azureProblems,
};

/** Paths are appended to a URL, and administrators see it. */
function urlProblems(key: HostedKey): FieldProblem[] {
  return hostedUrlsOf(key).flatMap(([field, text]) => {
    const url = httpUrlFrom(text);
    if (url === null) return [{ field: `config.${field}`, description: syntaxes.http_url.description }];
    if (url.username === '' && url.password === '' && !/[?#]/.test(text)) return [];
    return [{ field: `config.${field}`, description: 'must have no user name, password, query or fragment' }];
  });
}

/** A path with `..` would leave the API of the secrets engine. */
function vaultProblems({ at }: VaultKey): FieldProblem[] {
  return (['mount_point', 'key_name'] as const).flatMap((field) => {
    const isInside = !at[field]?.split('/').some((part) => part === '.' || part === '..');
    return isInside ? [] : [{ field: `config.${field}`, description: 'must have no part "." or ".."' }];
  });
}

function pkcs11Problems({ at }: Pkcs11Key): FieldProblem[] {
  const { module_path: path, token_label: token, slot, key_label: label, key_id: id } = at;
  const problems: FieldProblem[] = [];
  if (!path.startsWith('/')) problems.push({ field: 'config.module_path', description: 'must be an absolute path' });
  if ((token === undefined) === (slot === undefined))
    problems.push({ field: 'config.token_label', description: 'or slot is required, and not both' });
  if ((label === undefined) === (id === undefined))
    problems.push({ field: 'config.key_label', description: 'or key_id is required, and not both' });
  return problems;
}

function awsProblems({ at: { region, key_id: id } }: AwsKmsKey): FieldProblem[] {
  const [, named] = /^arn:[^:]*:kms:([^:]*):/.exec(id) ?? [];
  if (named === region || !id.startsWith('arn:')) return [];
  return [{ field: 'config.key_id', description: `must be an ARN of AWS KMS in the region ${region}` }];
}

function azureProblems({ at, secrets }: AzureKeyVaultKey): FieldProblem[] {
  const type = at.auth_type ?? 'client_secret';
  const needed = {
    managed_identity: {},
    workload_identity: { tenant_id: at.tenant_id, client_id: at.client_id },
    client_secret: { tenant_id: at.tenant_id, client_id: at.client_id, client_secret: secrets.client_secret },
  }[type];
  return Object.entries(needed).flatMap(([field, value]) =>
    value === undefined ? [{ field: `config.${field}`, description: `is required if auth_type is ${type}` }] : [],
  );
}

/**
 * Returns a problem for each URL of a key's provider that the limits reject. The limits are for keys that the API sets: without them,
 * callers could make the service send requests to any host.
 */
export function hostedUrlProblems(key: HostedKey, limits: Pick<NodeUrlPolicy, 'problemOf'>): readonly FieldProblem[] {
  return hostedUrlsOf(key).flatMap(([field, url]) => {
    const description = limits.problemOf(url);
    return description === undefined ? [] : [{ field: `config.${field}`, description }];
  });
}

/** The URLs that a key's provider is called at, by their fields. */
export function hostedUrlsOf({ at }: HostedKey): readonly (readonly [string, string])[] {
  const texts = at as Readonly<Record<string, string | number | undefined>>;
  const domain = texts['service_account.universe_domain'];
  const urls = {
    address: texts.address,
    vault_url: texts.vault_url,
    api_base_url: texts.api_base_url,
    endpoint: texts.endpoint,
    'service_account.token_uri': texts['service_account.token_uri'],
    'service_account.universe_domain': domain === undefined ? undefined : `https://cloudkms.${domain}`,
  };
  return Object.entries(urls).flatMap(([field, url]) => (typeof url === 'string' ? [[field, url] as const] : []));
}

/** The networks that kinds of keys cannot sign for, and why. */
const unserved: Readonly<Partial<Record<HostedType, Readonly<Partial<Record<NetworkType, string>>>>>> = {
  vault_transit: { evm: 'Vault Transit has no secp256k1 keys' },
  azure_key_vault: { stellar: 'Azure Key Vault has no ed25519 keys', solana: 'Azure Key Vault has no ed25519 keys' },
  cdp: { stellar: 'CDP has no Stellar accounts' },
};

/**
 * Returns why a key cannot sign for networks of this type; undefined: it can, if it is on the right curve, which may show only when it is
 * opened.
 */
export function unservedReason(place: HostedKeyPlace, network: NetworkType): string | undefined {
  const why =
    unserved[place.type]?.[network] ??
    (place.type === 'cdp' ? otherAccountReason((place.at as CdpKey['at']).account_address, network) : undefined);
  return why && `a key of type ${place.type} cannot sign for ${network} networks, because ${why}; use another type of signer`;
}

/** Whether an account of CDP is for EVM networks or for Solana follows from its address. */
function otherAccountReason(address: string, network: NetworkType): string | undefined {
  const accountOf = address.startsWith('0x') ? 'evm' : 'solana';
  return network === accountOf
    ? undefined
    : `account_address ${address} is an account of ${accountOf === 'evm' ? 'EVM networks' : 'Solana'}`;
}

/** The public key that a signer had when it was first opened. */
export interface PinnedKey {
  readonly signerId: string;
  /** Where the key was then. If the fields that identify a key differ now, the pin says nothing. */
  readonly place: HostedKeyPlace;
  readonly curve: Curve;
  /** Hex. */
  readonly publicKey: string;
}

/** Returns the definition that stores a pin. */
export function definitionFromPin({ signerId, ...content }: PinnedKey): Definition {
  return { kind: 'pinned_key', id: signerId, content, sealed: null };
}

/** Reads a pin from a definition. */
export function pinFrom({ id, content }: Definition): PinnedKey {
  return { ...(content as Omit<PinnedKey, 'signerId'>), signerId: id };
}

/**
 * The fields that say how a provider is reached and who may sign, not which of its keys is meant. The same key may be found at another slot
 * or address. Another key there is a mistake, which would change the address of relayers.
 */
const routeFields: ReadonlySet<string> = new Set([
  'address',
  'namespace',
  'module_path',
  'slot',
  'auth_type',
  'tenant_id',
  'client_id',
  'api_public_key',
  'api_key_id',
  'api_base_url',
  'endpoint',
  'service_account.token_uri',
  'service_account.universe_domain',
]);

/** True if two places name the same key, reached the same way or another. */
export function isSameKey(a: HostedKeyPlace, b: HostedKeyPlace): boolean {
  return a.type === b.type && identityOf(a.at) === identityOf(b.at);
}

function identityOf(at: object): string {
  const fields = Object.entries(at).filter(([name]) => !routeFields.has(name));
  return JSON.stringify(fields.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Returns the content and the secret text of the definition that stores a hosted key. */
export function storedFormOf({ type, at, secrets }: HostedKey): { readonly content: object; readonly secret: string } {
  return { content: { type, at }, secret: JSON.stringify(secrets) };
}

/** Reads a hosted key from the content of a definition and its opened secret. */
export function hostedKeyFromStored(content: object, secret: string): HostedKey {
  return { ...(content as HostedKeyPlace), secrets: JSON.parse(secret) } as HostedKey;
}
