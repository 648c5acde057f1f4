import { isDeepStrictEqual } from 'node:util';
import type { LoadedConfig } from '../config/config-file.js';
import { ConfigError } from '../config/problem.js';
import type { StoredDefinitions } from '../core/definitions/definition-writer.js';
import { DomainError } from '../core/errors/errors.js';
import { type Networks, networkIdOf } from '../core/network/networks.js';
import type { SecretBox } from '../core/ports/secret-box.js';
import type { Definition } from '../core/records/definition.js';
import type { Relayer } from '../core/records/relayer.js';
import type { ChangeableDirectory } from '../core/relayer/create-directory.js';
import type { RelayerRegistry } from '../core/relayer/relayer-registry.js';
import { type HeldSigner, type HostedKeys, keyFor, type Signers } from '../core/signer/signers.js';
import { type Combined, combine, storedKeyFrom } from './config-in-force.js';
import { accountOf, openStoredKey } from './open-relayers.js';

/** What the service holds in memory, and what it takes to change it. */
export interface ShownDefinitions {
  readonly config: LoadedConfig;
  readonly secretBox: Pick<SecretBox, 'open'>;
  readonly networks: Networks;
  readonly signers: Signers;
  readonly directory: ChangeableDirectory;
  readonly registry: RelayerRegistry;
  readonly hostedKeys: HostedKeys;
}

/** When a caller should try again while a signer cannot be opened. */
const retryAfterMs = 1_000;

/**
 * Changes the networks, the signers and the relayers in memory to what is stored, where they differ: another instance has changed them, or it is unknown whether a commit of this one
 * was written. What no longer exists ends first, so that its account and its ids are free. Throws `SIGNER_UNAVAILABLE` if a signer cannot be opened here, after all
 * other changes.
 */
export async function showDefinitions(shown: ShownDefinitions, definitions: StoredDefinitions): Promise<void> {
  const wanted = combine(shown.secretBox, shown.config, definitions);
  if (wanted.problems.length > 0) throw new ConfigError(wanted.problems);
  for (const network of wanted.networks.all()) shown.networks.put(network);
  await stopRelayers(shown, wanted);
  await closeGone(shown, wanted);
  const failure = await openSigners(shown, wanted);
  await changeRelayers(shown, wanted);
  await startRelayers(shown, wanted);
  if (failure !== null) throw failure;
}

/** Stops the relayers that are gone, or that have another account. */
async function stopRelayers({ directory, registry, signers }: ShownDefinitions, wanted: Combined): Promise<void> {
  const byId = new Map(wanted.relayers.map(({ entry }) => [entry.id, entry]));
  const sealed = sealedById(wanted);
  for (const relayer of directory.relayers()) {
    const { id, signerId, network } = relayer;
    const next = byId.get(id);
    const staysSame =
      next?.signerId === signerId &&
      networkIdOf(next.network) === networkIdOf(network) &&
      signers.isFrom(signerId, sealed.get(signerId) ?? null);
    if (!staysSame) await registry.stop(relayer);
  }
}

/** Closes the signers that are gone, or that have another key. */
async function closeGone({ signers }: ShownDefinitions, wanted: Combined): Promise<void> {
  const sealed = sealedById(wanted);
  const fromFile = new Set(wanted.fileSigners.map(({ entry }) => entry.id));
  for (const signer of signers.all()) {
    const stays = sealed.has(signer.id) || fromFile.has(signer.id);
    if (stays && signers.isFrom(signer.id, sealed.get(signer.id) ?? null)) continue;
    signers.remove(signer.id);
    await signer.close?.();
  }
}

/** Opens the signers that are new. Returns the error of the first that cannot be opened. */
async function openSigners(shown: ShownDefinitions, { storedSigners, pinnedKeys }: Combined): Promise<DomainError | null> {
  const { signers } = shown;
  let failure: DomainError | null = null;
  for (const definition of storedSigners) {
    if (signers.find(definition.id) !== undefined) continue;
    try {
      signers.add(await openSigner(shown, definition, pinnedKeys), definition.sealed);
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      failure ??= unopened(definition.id, error);
    }
  }
  return failure;
}

async function openSigner(
  { secretBox, hostedKeys }: ShownDefinitions,
  definition: Definition,
  pinnedKeys: Combined['pinnedKeys'],
): Promise<HeldSigner> {
  const key = storedKeyFrom(secretBox, definition);
  if ('privateKey' in key) return openStoredKey(key);
  const pin = pinnedKeys.find(({ signerId }) => signerId === key.id) ?? null;
  return (await hostedKeys.open(key.id, key.hosted, pin)).signer;
}

function unopened(id: string, { message }: DomainError): DomainError {
  const sentence = `signer ${id}, which another instance created, cannot be opened by this instance: ${message}`;
  return new DomainError('unavailable', 'SIGNER_UNAVAILABLE', sentence, { metadata: { signer_id: id }, retryAfterMs });
}

async function changeRelayers({ directory, registry }: ShownDefinitions, wanted: Combined): Promise<void> {
  for (const { entry: next } of wanted.relayers) {
    const relayer = directory.relayer(next.id);
    if (relayer === undefined) continue;
    const { address, disabledReason, ...before } = relayer;
    if (!isDeepStrictEqual(before, next)) await registry.change({ ...next, address, disabledReason });
  }
}

async function startRelayers({ directory, registry, signers }: ShownDefinitions, wanted: Combined): Promise<void> {
  for (const { entry: next } of wanted.relayers) {
    const held = signers.find(next.signerId);
    // Without its signer, it starts when the signer could be opened.
    if (directory.relayer(next.id) !== undefined || held === undefined) continue;
    const signer = keyFor(held, next.networkType);
    if (typeof signer === 'string') throw new Error(`the stored relayer ${next.id}: ${signer}`);
    const relayer: Relayer = { ...next, address: await accountOf(next.networkType, signer), disabledReason: null };
    await registry.start(relayer, signer);
  }
}

/** The secrets of the signers that the API created. */
function sealedById({ storedSigners }: Pick<Combined, 'storedSigners'>): ReadonlyMap<string, string | null> {
  return new Map(storedSigners.map(({ id, sealed }) => [id, sealed]));
}
