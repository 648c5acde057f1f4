import type { buildConnector } from 'undici';
import { invalidField } from '../core/errors/errors.js';
import type { NodeUrlPolicy } from '../core/network/node-url-policy.js';
import type { HostedKey, HostedType, SignerLimits } from '../core/signer/hosted-key.js';
import { systemClock } from '../core/work/clock.js';
import type { AzureSurroundings } from '../signers/azure-key-vault/token-issuer.js';
import type { KeyProvider, ProviderLimits } from '../signers/hosted/key-provider.js';
import type { LiveSecrets } from '../signers/hosted/live-secrets.js';

/** A provider that signs, or the private key that a vault hands out. */
export type Source =
  | { readonly provider: KeyProvider }
  | { readonly name: string; readonly privateKey: (signal: AbortSignal) => Promise<Buffer> };

/**
 * What only the operator may choose, in the configuration file or the environment. Callers of the API could otherwise abuse the service's
 * own rights.
 */
export interface OperatorChoices {
  /** PKCS #11 modules: loading a library runs its code. */
  readonly modules: ReadonlySet<string>;
  /** Vaults outside of Azure: the server there gets a token of the identity of the machine. */
  readonly azureVaults: ReadonlySet<string>;
  /** Files that are sent to Azure. */
  readonly azureTokenFiles: ReadonlySet<string>;
  /** The names of the keys that may be used with the identity of the service, as `identityNameOf` returns them. */
  readonly identityKeys: { has(name: string): boolean };
  readonly azure: AzureSurroundings;
  readonly limits: SignerLimits;
  /** The limits of URLs that the API sets. */
  readonly urlLimits: Pick<NodeUrlPolicy, 'problemOf'>;
  /** Opens connections within these limits; undefined: addresses are not limited. */
  readonly connect: buildConnector.connector | undefined;
}

/** The identity and the credentials of a key; operators may replace the credentials while the service runs. */
type At<T extends HostedType> = Extract<HostedKey, { type: T }>['at'];
type Secrets<T extends HostedType> = LiveSecrets<Extract<HostedKey, { type: T }>['secrets']>;

/** A kind of keys outside of the service. */
export interface KeyKind<T extends HostedType> {
  /** The calls to each account of the provider, unless `SIGNER_LIMITS` says otherwise. */
  readonly limits: ProviderLimits;
  /** Throws `FIELD_INVALID` if a key of the API uses what only the operator may choose. Absent: there is nothing to choose. */
  requireChosen?(key: Extract<HostedKey, { type: T }>, choices: OperatorChoices): Promise<void>;
  open(at: At<T>, secrets: Secrets<T>, limits: ProviderLimits, choices: OperatorChoices): Promise<Source>;
}

/**
 * The kinds of keys. A kind's code and libraries are loaded when its first key is opened. Their rules for configurations, which need no
 * library, are in `core/signer/hosted-key.ts`.
 */
export const keyKinds: { readonly [T in HostedType]: KeyKind<T> } = {
  vault: {
    // Vault has no limit of its own; an operator can set quotas, which answer 429.
    limits: { parallel: 32, perSecond: 500 },
    async open(at, secrets, limits) {
      const [{ createVaultClient }, { readKey }] = await Promise.all([
        import('../signers/vault/vault-client.js'),
        import('../signers/vault/read-key.js'),
      ]);
      return {
        name: 'Vault',
        async privateKey(signal) {
          const client = createVaultClient(vaultAccess(at, secrets), systemClock, limits);
          return readKey(client, at.mount_point ?? 'secret', at.key_name, signal).finally(() => client.close());
        },
      };
    },
  },
  vault_transit: {
    // As for `vault`.
    limits: { parallel: 32, perSecond: 500 },
    async open(at, secrets, limits) {
      const [{ createVaultClient }, { createTransitProvider }] = await Promise.all([
        import('../signers/vault/vault-client.js'),
        import('../signers/vault-transit/provider.js'),
      ]);
      const client = createVaultClient(vaultAccess(at, secrets), systemClock, limits);
      const place = { account: `vault ${at.address}`, mountPoint: at.mount_point ?? 'transit', keyName: at.key_name, pubkey: at.pubkey };
      return { provider: createTransitProvider(client, place) };
    },
  },
  pkcs11: {
    // Each call has a thread. Small HSMs do 10 to 100 signatures per second, and more threads would only wait in the module.
    limits: { parallel: 4, perSecond: 1_000 },
    async requireChosen({ at }, { modules }) {
      if (!modules.has(at.module_path))
        throw invalidField('config.module_path', 'must be a module that a signer in the configuration file uses');
    },
    async open(at, secrets, limits) {
      const { createPkcs11Provider } = await import('../signers/pkcs11/provider.js');
      const token = { tokenLabel: at.token_label ?? null, slot: at.slot ?? null };
      const key = { keyLabel: at.key_label ?? null, keyId: at.key_id?.replace(/^0x/, '') ?? null };
      return { provider: createPkcs11Provider({ modulePath: at.module_path, ...token, ...key, secrets }, limits) };
    },
  },
  aws_kms: {
    // KMS allows 1,000 signatures per second with elliptic curve keys for each account and region, unless another quota was agreed on.
    limits: { parallel: 32, perSecond: 1_000 },
    async requireChosen(key, choices) {
      requireNamed(key, 'key_id', choices);
    },
    async open(at, _secrets, limits) {
      const { createAwsKmsProvider } = await import('../signers/aws-kms/provider.js');
      return { provider: createAwsKmsProvider({ region: at.region, keyId: at.key_id }, limits) };
    },
  },
  google_cloud_kms: {
    // Google sets a quota for each project, and answers 429 beyond it.
    limits: { parallel: 32, perSecond: 500 },
    async open(at, secrets, limits) {
      const { createGoogleKmsProvider } = await import('../signers/google-cloud-kms/provider.js');
      const account = {
        tokenUri: at['service_account.token_uri'] ?? 'https://oauth2.googleapis.com/token',
        secrets,
      };
      const domain = at['service_account.universe_domain'] ?? 'googleapis.com';
      const name = {
        projectId: at['service_account.project_id'],
        location: at['key.location'] ?? 'global',
        keyRingId: at['key.key_ring_id'],
        keyId: at['key.key_id'],
        keyVersion: at['key.key_version'] ?? 1,
      };
      const endpoint = at.endpoint ?? `https://cloudkms.${domain}`;
      return { provider: createGoogleKmsProvider({ account, endpoint, ...name }, systemClock, limits) };
    },
  },
  azure_key_vault: {
    // Azure allows a vault 4,000 transactions in 10 s with software keys. One with keys in an HSM has 2,000: it is throttled, and gets
    // fewer.
    limits: { parallel: 32, perSecond: 400 },
    async requireChosen(key, choices) {
      const { at, secrets } = key;
      const { azureVaults, azureTokenFiles } = choices;
      const { isAzureUrl } = await import('../signers/azure-key-vault/clouds.js');
      const { auth_type: type = 'client_secret', vault_url: url } = at;
      if (type !== 'client_secret' && !azureVaults.has(url) && !isAzureUrl(url))
        throw invalidField(
          'config.vault_url',
          `must be a vault of Azure, or the vault of a signer in the configuration file, if auth_type is ${type}`,
        );
      const file = secrets.federated_token_file;
      if (file !== undefined && !azureTokenFiles.has(file))
        throw invalidField(
          'config.federated_token_file',
          'must be the file that AZURE_FEDERATED_TOKEN_FILE or a signer in the configuration file names',
        );
      requireNamed(key, 'key_name', choices);
    },
    async open(at, secrets, limits, { azure }) {
      const { createAzureProvider } = await import('../signers/azure-key-vault/provider.js');
      const identity = {
        authType: at.auth_type ?? 'client_secret',
        tenantId: at.tenant_id ?? null,
        clientId: at.client_id ?? null,
        secrets,
        surroundings: azure,
      };
      const key = { vaultUrl: at.vault_url, keyName: at.key_name, keyVersion: at.key_version ?? null };
      return { provider: createAzureProvider({ identity, ...key }, systemClock, limits) };
    },
  },
  turnkey: {
    // Turnkey allows an organization of its largest plan 60 requests per second. Turnkey throttles smaller plans.
    limits: { parallel: 32, perSecond: 60 },
    async open(at, secrets, limits) {
      const { createTurnkeyProvider } = await import('../signers/turnkey/provider.js');
      const access = { apiPublicKey: at.api_public_key, secrets, organizationId: at.organization_id };
      const key = { apiBaseUrl: at.api_base_url ?? 'https://api.turnkey.com', privateKeyId: at.private_key_id, publicKey: at.public_key };
      return { provider: createTurnkeyProvider({ ...access, ...key }, limits) };
    },
  },
  cdp: {
    // CDP allows 500 requests that change or sign something in 10 s.
    limits: { parallel: 32, perSecond: 50 },
    async open(at, secrets, limits) {
      const { createCdpProvider } = await import('../signers/cdp/provider.js');
      const apiBaseUrl = at.api_base_url ?? 'https://api.cdp.coinbase.com/platform';
      return { provider: createCdpProvider({ apiKeyId: at.api_key_id, secrets, apiBaseUrl, address: at.account_address }, limits) };
    },
  },
};

/** Returns how `SERVICE_IDENTITY_KEYS` names a key that the service uses with its own identity; null: its credentials come with it. */
export function identityNameOf({ type, at }: HostedKey): string | null {
  if (type === 'aws_kms') return `${type}=${at.region}/${at.key_id}`;
  if (type === 'azure_key_vault' && (at.auth_type ?? 'client_secret') !== 'client_secret')
    return `${type}=${new URL(at.vault_url).origin}/${at.key_name}`;
  return null;
}

function requireNamed(key: HostedKey, field: string, { identityKeys }: OperatorChoices): void {
  const name = identityNameOf(key);
  if (name === null || identityKeys.has(name)) return;
  const sentence =
    "must be a key that SERVICE_IDENTITY_KEYS or a signer in the configuration file names, since the service's own identity signs";
  throw invalidField(`config.${field}`, sentence);
}

function vaultAccess(at: At<'vault'>, secrets: Secrets<'vault'>) {
  return { address: at.address, namespace: at.namespace ?? null, secrets };
}
