import type { LoadedConfig } from '../config/config-file.js';
import type { SettingValues } from '../config/settings.js';
import { DomainError, invalidField } from '../core/errors/errors.js';
import { type ConfiguredLimits, type HostedKey, isSameKey, type PinnedKey, type SignerLimits } from '../core/signer/hosted-key.js';
import type { HeldSigner, HostedKeys, OpenedKey } from '../core/signer/signers.js';
import { within } from '../core/work/abort.js';
import { systemClock } from '../core/work/clock.js';
import type { Log } from '../core/work/log.js';
import { systemTimers } from '../core/work/timers.js';
import type { AzureSurroundings } from '../signers/azure-key-vault/token-issuer.js';
import type { KeyProvider, PublicKey } from '../signers/hosted/key-provider.js';
import type { LiveSecrets } from '../signers/hosted/live-secrets.js';
import type { ProviderGates } from '../signers/hosted/provider-gate.js';

/** How long reading a public key may take. */
const openMs = 10_000;
/** When a caller should try again whose key's provider is not reachable. */
const retryOpeningAfterMs = 1_000;

/** A provider that signs, or the private key that a vault hands out. */
type Source = { readonly provider: KeyProvider } | { readonly name: string; readonly privateKey: (signal: AbortSignal) => Promise<Buffer> };

/** What the operator has chosen for a kind of key. */
interface Choice {
  readonly limits: Partial<ConfiguredLimits>;
  readonly azure: AzureSurroundings;
}

/** A key's configuration, with the secrets as they are now. */
type Wanted<T extends HostedKey['type']> = Pick<Extract<HostedKey, { type: T }>, 'at'> & {
  readonly secrets: LiveSecrets<Extract<HostedKey, { type: T }>['secrets']>;
};

/** How each kind of key is opened. A kind's code and libraries are loaded when the first key of the kind is opened. */
const sources: { readonly [T in HostedKey['type']]: (key: Wanted<T>, choice: Choice) => Promise<Source> } = {
  async vault({ at, secrets }) {
    const [{ createVaultClient }, { readKey }] = await Promise.all([
      import('../signers/vault/vault-client.js'),
      import('../signers/vault/read-key.js'),
    ]);
    return {
      name: 'Vault',
      async privateKey(signal) {
        const client = createVaultClient(vaultAccess({ at, secrets }), systemClock);
        return readKey(client, at.mount_point ?? 'secret', at.key_name, signal).finally(() => client.close());
      },
    };
  },
  async vault_transit({ at, secrets }, { limits }) {
    const [{ createVaultClient }, { createTransitProvider }] = await Promise.all([
      import('../signers/vault/vault-client.js'),
      import('../signers/vault-transit/provider.js'),
    ]);
    const client = createVaultClient(vaultAccess({ at, secrets }), systemClock, limits);
    const place = { account: `vault ${at.address}`, mountPoint: at.mount_point ?? 'transit', keyName: at.key_name, pubkey: at.pubkey };
    return { provider: createTransitProvider(client, place) };
  },
  async pkcs11({ at, secrets }, { limits }) {
    const { createPkcs11Provider } = await import('../signers/pkcs11/provider.js');
    const token = { tokenLabel: at.token_label ?? null, slot: at.slot ?? null };
    const key = { keyLabel: at.key_label ?? null, keyId: at.key_id?.replace(/^0x/, '') ?? null };
    return { provider: createPkcs11Provider({ modulePath: at.module_path, ...token, ...key, secrets }, limits) };
  },
  async aws_kms({ at }, { limits }) {
    const { createAwsKmsProvider } = await import('../signers/aws-kms/provider.js');
    return { provider: createAwsKmsProvider({ region: at.region, keyId: at.key_id }, limits) };
  },
  async google_cloud_kms({ at, secrets }, { limits }) {
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
  async azure_key_vault({ at, secrets }, { limits, azure }) {
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
  async turnkey({ at, secrets }, { limits }) {
    const { createTurnkeyProvider } = await import('../signers/turnkey/provider.js');
    const access = { apiPublicKey: at.api_public_key, secrets, organizationId: at.organization_id };
    const key = { apiBaseUrl: at.api_base_url ?? 'https://api.turnkey.com', privateKeyId: at.private_key_id, publicKey: at.public_key };
    return { provider: createTurnkeyProvider({ ...access, ...key }, limits) };
  },
  async cdp({ at, secrets }, { limits }) {
    const { createCdpProvider } = await import('../signers/cdp/provider.js');
    const apiBaseUrl = at.api_base_url ?? 'https://api.cdp.coinbase.com/platform';
    return { provider: createCdpProvider({ apiKeyId: at.api_key_id, secrets, apiBaseUrl, address: at.account_address }, limits) };
  },
};

function vaultAccess({ at, secrets }: Wanted<'vault'>) {
  return { address: at.address, namespace: at.namespace ?? null, secrets };
}

/** What only the operator may choose, in the configuration file or the environment. Callers of the API could otherwise abuse the service's own rights. */
export interface OperatorChoices {
  /** PKCS #11 modules: loading a library runs its code. */
  readonly modules: ReadonlySet<string>;
  /** Vaults outside of Azure: the server there gets a token of the identity of the machine. */
  readonly azureVaults: ReadonlySet<string>;
  /** Files that are sent to Azure. */
  readonly azureTokenFiles: ReadonlySet<string>;
  readonly azure: AzureSurroundings;
  readonly limits: SignerLimits;
}

type SignerSettings = Pick<SettingValues, 'signerLimits' | Extract<keyof SettingValues, `azure${string}`>>;

/** Returns what the configuration file and the environment choose. */
export function operatorChoices({ signers }: Pick<LoadedConfig, 'signers'>, settings: SignerSettings): OperatorChoices {
  const { azureAuthorityHost, azureFederatedTokenFile, azureImdsTokenUrl, azureIdentityEndpoint, azureIdentityHeader } = settings;
  const keys = signers.flatMap((signer) => ('hosted' in signer ? [signer.hosted] : []));
  const azureKeys = keys.filter((key) => key.type === 'azure_key_vault');
  const tokenFiles = [azureFederatedTokenFile, ...azureKeys.map(({ secrets }) => secrets.federated_token_file)];
  return {
    modules: new Set(keys.flatMap((key) => (key.type === 'pkcs11' ? [key.at.module_path] : []))),
    azureVaults: new Set(azureKeys.map(({ at }) => at.vault_url)),
    azureTokenFiles: new Set(tokenFiles.filter((file) => typeof file === 'string')),
    azure: {
      authorityHost: azureAuthorityHost,
      federatedTokenFile: azureFederatedTokenFile,
      imdsTokenUrl: azureImdsTokenUrl,
      identityEndpoint: azureIdentityEndpoint,
      identityHeader: azureIdentityHeader,
    },
    limits: settings.signerLimits,
  };
}

/** Throws `FIELD_INVALID` if a key of the API uses what only the operator may choose. */
async function requireChosen(key: HostedKey, { modules, azureVaults, azureTokenFiles }: OperatorChoices): Promise<void> {
  if (key.type === 'pkcs11' && !modules.has(key.at.module_path))
    throw invalidField('config.module_path', 'must be a module that a signer in the configuration file uses');
  if (key.type !== 'azure_key_vault') return;
  const { isAzureUrl } = await import('../signers/azure-key-vault/clouds.js');
  const { auth_type: type = 'client_secret', vault_url: url } = key.at;
  if (type !== 'client_secret' && !azureVaults.has(url) && !isAzureUrl(url))
    throw invalidField(
      'config.vault_url',
      `must be a vault of Azure, or the vault of a signer in the configuration file, if auth_type is ${type}`,
    );
  const file = key.secrets.federated_token_file;
  if (file !== undefined && !azureTokenFiles.has(file))
    throw invalidField(
      'config.federated_token_file',
      'must be the file that AZURE_FEDERATED_TOKEN_FILE or a signer in the configuration file names',
    );
}

/** Makes the opener of keys outside of the service. It loads no library before the first key is opened. */
export function createHostedKeys(log: Log, choices: OperatorChoices): HostedKeys {
  const time = { clock: systemClock, timers: systemTimers };
  let gates: ProviderGates | null = null;

  async function openProvider(id: string, key: HostedKey, provider: KeyProvider, pin: PinnedKey | null): Promise<OpenedKey> {
    const [{ createHostedSigner }, { createProviderGates }] = await Promise.all([
      import('../signers/hosted/hosted-signer.js'),
      import('../signers/hosted/provider-gate.js'),
    ]);
    gates ??= createProviderGates(time);
    const known = pin === null ? null : { curve: pin.curve, bytes: Buffer.from(pin.publicKey, 'hex') };
    const publicKey = await publicKeyOf(id, provider, known, log);
    const gate = gates(provider.account, { ...provider.limits, ...choices.limits.get(key.type) });
    const { signer, close } = createHostedSigner({ id, provider, publicKey, gate, time, log });
    const held: HeldSigner = {
      id,
      evmAddress: signer.curve === 'secp256k1' ? signer.address : null,
      place: { type: key.type, at: key.at } as HeldSigner['place'],
      on: (curve) => (curve === signer.curve ? signer : undefined),
      close,
    };
    return { signer: held, pin: pinOf(id, key, publicKey) };
  }

  return {
    async open(id, key, pinned, secretsInFiles = () => ({})) {
      await requireChosen(key, choices);
      const pin = pinned !== null && isSameKey(pinned.place, key) ? pinned : null;
      const { createLiveSecrets } = await import('../signers/hosted/live-secrets.js');
      const secrets = createLiveSecrets(key.secrets, secretsInFiles);
      const open = sources[key.type] as (wanted: object, choice: Choice) => Promise<Source>;
      const source = await open({ at: key.at, secrets }, { limits: choices.limits.get(key.type) ?? {}, azure: choices.azure });
      const opened =
        'provider' in source
          ? await openProvider(id, key, following(source.provider, secrets), pin)
          : await openPrivateKey(id, key, source);
      try {
        await requirePinned(pin, opened.pin);
      } catch (error) {
        await opened.signer.close?.();
        throw error;
      }
      return opened;
    },
  };
}

/** A provider whose calls follow changed credentials. */
function following(provider: KeyProvider, secrets: LiveSecrets<object>): KeyProvider {
  return {
    ...provider,
    publicKey: (signal) => secrets.following(() => provider.publicKey(signal)),
    sign: (bytes, signal) => secrets.following(() => provider.sign(bytes, signal)),
  };
}

/** Makes the signer of a private key that a vault hands out. */
async function openPrivateKey(id: string, key: HostedKey, source: Exclude<Source, { provider: KeyProvider }>): Promise<OpenedKey> {
  const [{ heldSignerFrom }, { secp256k1 }] = await Promise.all([
    import('../signers/local/open-signer.js'),
    import('../crypto/secp256k1.js'),
  ]);
  const privateKey = await within(openMs, (signal) => source.privateKey(signal)).catch(async (error: unknown) => {
    throw await openingError(id, source.name, error);
  });
  try {
    if (!secp256k1.privateKeyVerify(privateKey)) throw invalidField('config', 'names a secret that is not a secp256k1 private key');
    const held = heldSignerFrom(id, privateKey, ['secp256k1', 'ed25519']);
    const publicKey: PublicKey = { curve: 'secp256k1', bytes: secp256k1.publicKeyCreate(privateKey, false) };
    return { signer: { ...held, place: { type: key.type, at: key.at } as HeldSigner['place'] }, pin: pinOf(id, key, publicKey) };
  } finally {
    privateKey.fill(0);
  }
}

/** Reads the public key; if the provider is not reachable, returns the known one, which every signature is verified against. */
async function publicKeyOf(id: string, provider: KeyProvider, known: PublicKey | null, log: Log): Promise<PublicKey> {
  try {
    // An HSM's module may never return, and takes no note of the signal.
    return await within(openMs, (signal) => provider.publicKey(signal));
  } catch (error) {
    const refusal = await openingError(id, provider.name, error);
    if (known === null || refusal.reason !== 'SIGNER_UNAVAILABLE') {
      await provider.close();
      throw refusal;
    }
    log.warn({ signer: id, reason: refusal.message }, 'the signer starts with its known public key, because its provider does not answer');
    return known;
  }
}

async function openingError(id: string, name: string, error: unknown): Promise<DomainError> {
  const { ProviderError } = await import('../signers/hosted/key-provider.js');
  const detail = error instanceof Error ? error.message : String(error);
  if (error instanceof ProviderError && error.problem === 'refused') return invalidField('config', `is refused by ${name}: ${detail}`);
  return new DomainError('unavailable', 'SIGNER_UNAVAILABLE', `signer ${id} cannot be opened: ${name} is not reachable: ${detail}`, {
    metadata: { signer_id: id },
    retryAfterMs: retryOpeningAfterMs,
  });
}

function pinOf(id: string, { type, at }: HostedKey, { curve, bytes }: PublicKey): PinnedKey {
  return { signerId: id, place: { type, at } as PinnedKey['place'], curve, publicKey: Buffer.from(bytes).toString('hex') };
}

async function requirePinned(pin: PinnedKey | null, found: PinnedKey): Promise<void> {
  if (pin === null || pin.publicKey === found.publicKey) return;
  const sentence = `names another key than before: now it is ${await shownKey(found)}, but it was ${await shownKey(pin)}`;
  throw invalidField('config', `${sentence}; restore the key, or give the signer of the new key another id`);
}

/** The address on EVM networks, or the public key that Stellar and Solana derive their addresses from. */
async function shownKey({ curve, publicKey }: PinnedKey): Promise<string> {
  if (curve === 'ed25519') return `the ed25519 key ${publicKey}`;
  const { addressOfPublicKey } = await import('../crypto/evm-address.js');
  return addressOfPublicKey(Buffer.from(publicKey, 'hex'));
}
