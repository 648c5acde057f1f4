import { buildConnector } from 'undici';
import type { LoadedConfig } from '../config/config-file.js';
import type { SettingValues } from '../config/settings.js';
import { DomainError, invalidField, throwProblems } from '../core/errors/errors.js';
import { createNodeUrlPolicy } from '../core/network/node-url-policy.js';
import { type HostedKey, type HostedType, hostedUrlProblems, hostedUrlsOf, isSameKey, type PinnedKey } from '../core/signer/hosted-key.js';
import type { HeldSigner, HostedKeys, OpenedKey } from '../core/signer/signers.js';
import { within } from '../core/work/abort.js';
import { systemClock } from '../core/work/clock.js';
import type { Log } from '../core/work/log.js';
import { systemTimers } from '../core/work/timers.js';
import type { KeyProvider, PublicKey } from '../signers/hosted/key-provider.js';
import type { LiveSecrets } from '../signers/hosted/live-secrets.js';
import type { ProviderGates } from '../signers/hosted/provider-gate.js';
import { createGuardedConnector } from '../webhooks/target-guard.js';
import { identityNameOf, type KeyKind, keyKinds, type OperatorChoices, type Source } from './key-kinds.js';

/** How long reading a public key may take. */
const openMs = 10_000;
/** How long opening a connection may take. */
const connectMs = 3_000;
/** When a caller should try again whose key's provider is not reachable. */
const retryOpeningAfterMs = 1_000;

type SignerSettings = Pick<
  SettingValues,
  'signerLimits' | 'identityKeys' | 'rpcAllowedHosts' | 'rpcBlockPrivateIps' | Extract<keyof SettingValues, `azure${string}`>
>;

/** Returns what the configuration file and the environment choose. */
export function operatorChoices({ signers }: Pick<LoadedConfig, 'signers'>, settings: SignerSettings): OperatorChoices {
  const { azureAuthorityHost, azureFederatedTokenFile, azureImdsTokenUrl, azureIdentityEndpoint, azureIdentityHeader } = settings;
  const keys = signers.flatMap((signer) => ('hosted' in signer ? [signer.hosted] : []));
  const azureKeys = keys.filter((key) => key.type === 'azure_key_vault');
  const surroundings = [azureAuthorityHost, azureImdsTokenUrl, azureIdentityEndpoint].filter((url) => url !== null);
  const tokenFiles = [azureFederatedTokenFile, ...azureKeys.map(({ secrets }) => secrets.federated_token_file)];
  return {
    modules: new Set(keys.flatMap((key) => (key.type === 'pkcs11' ? [key.at.module_path] : []))),
    azureVaults: new Set(azureKeys.map(({ at }) => at.vault_url)),
    azureTokenFiles: new Set(tokenFiles.filter((file) => typeof file === 'string')),
    identityKeys: identityKeysFrom(settings.identityKeys, keys),
    azure: {
      authorityHost: azureAuthorityHost,
      federatedTokenFile: azureFederatedTokenFile,
      imdsTokenUrl: azureImdsTokenUrl,
      identityEndpoint: azureIdentityEndpoint,
      identityHeader: azureIdentityHeader,
    },
    limits: settings.signerLimits,
    ...urlLimitsOf(settings, [...keys.flatMap((key) => hostedUrlsOf(key).map(([, url]) => url)), ...surroundings]),
  };
}

function identityKeysFrom(named: readonly string[], ofFile: readonly HostedKey[]): OperatorChoices['identityKeys'] {
  const names = new Set([...named.filter((name) => !name.endsWith('*')), ...ofFile.map(identityNameOf)]);
  const beginnings = named.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1));
  return { has: (name) => names.has(name) || beginnings.some((beginning) => name.startsWith(beginning)) };
}

/**
 * Returns the limits of URLs of signers. They are checked when a key is opened, and addresses again when the service connects, since a name
 * can lead to another one by then. `chosen`: URLs of the operator, which are not limited.
 */
function urlLimitsOf(settings: SignerSettings, chosen: readonly string[]): Pick<OperatorChoices, 'urlLimits' | 'connect'> {
  const { rpcAllowedHosts: allowedHosts, rpcBlockPrivateIps: blockPrivate } = settings;
  const urlLimits = createNodeUrlPolicy({ allowedHosts, blockPrivate }, chosen);
  if (!blockPrivate) return { urlLimits, connect: undefined };
  const guarded = createGuardedConnector({ allowPrivateTargets: false, timeoutMs: connectMs });
  const open = buildConnector({ timeout: connectMs });
  const connect: buildConnector.connector = (options, callback) =>
    (urlLimits.isConfiguredHost(new URL(`${options.protocol}//${options.host}`).host) ? open : guarded)(options, callback);
  return { urlLimits, connect };
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
    const gate = gates(provider.account, provider.limits);
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
      const kind = keyKinds[key.type] as KeyKind<HostedType>;
      throwProblems(hostedUrlProblems(key, choices.urlLimits));
      await kind.requireChosen?.(key, choices);
      const pin = pinned !== null && isSameKey(pinned.place, key) ? pinned : null;
      const { createLiveSecrets } = await import('../signers/hosted/live-secrets.js');
      const secrets = createLiveSecrets<HostedKey['secrets']>(key.secrets, secretsInFiles);
      const source = await kind.open(
        key.at,
        secrets,
        { ...kind.limits, ...choices.limits.get(key.type), connect: choices.connect },
        choices,
      );
      const opened =
        'provider' in source
          ? await openProvider(id, key, following(source.provider, secrets), pin)
          : await openPrivateKey(id, key, source, log);
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
async function openPrivateKey(
  id: string,
  key: HostedKey,
  source: Exclude<Source, { provider: KeyProvider }>,
  log: Log,
): Promise<OpenedKey> {
  const [{ heldSignerFrom }, { secp256k1 }] = await Promise.all([
    import('../signers/local/open-signer.js'),
    import('../crypto/secp256k1.js'),
  ]);
  const privateKey = await within(openMs, (signal) => source.privateKey(signal)).catch(async (error: unknown) => {
    throw await openingError(id, source.name, error, log);
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
    const refusal = await openingError(id, provider.name, error, log);
    if (known === null || refusal.reason !== 'SIGNER_UNAVAILABLE') {
      await provider.close();
      throw refusal;
    }
    log.warn({ signer: id, reason: refusal.message }, 'the signer starts with its known public key, because its provider does not answer');
    return known;
  }
}

async function openingError(id: string, name: string, error: unknown, log: Log): Promise<DomainError> {
  const { ProviderError } = await import('../signers/hosted/key-provider.js');
  const { sentenceForCaller } = await import('../signers/hosted/http-client.js');
  const detail = sentenceForCaller(error);
  log.warn({ signer: id, err: error }, `cannot open the signer with ${name}`);
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

/** The address on EVM networks, or the public key that other networks derive their addresses from. */
async function shownKey({ curve, publicKey }: PinnedKey): Promise<string> {
  if (curve === 'ed25519') return `the ed25519 key ${publicKey}`;
  const { addressOfPublicKey } = await import('../crypto/evm-address.js');
  return addressOfPublicKey(Buffer.from(publicKey, 'hex'));
}
