import { ConfigError, type Problem } from '../config/problem.js';
import { accountProblems } from '../config/relayer-entries.js';
import type { HostedSignerEntry, LocalSignerEntry } from '../config/signer-entries.js';
import { DomainError } from '../core/errors/errors.js';
import type { Signer } from '../core/ports/signer.js';
import type { NetworkType } from '../core/records/network.js';
import type { Relayer } from '../core/records/relayer.js';
import { type ChangeableDirectory, createDirectory, type DirectoryEntry } from '../core/relayer/create-directory.js';
import { findMovedAccounts, type MovedAccount } from '../core/relayer/moved-accounts.js';
import { type Chains, nodesOf } from '../core/relayer/relayer-registry.js';
import type { PinnedKey } from '../core/signer/hosted-key.js';
import { createSigners, type HeldSigner, type HostedKeys, keyFor, type Signers } from '../core/signer/signers.js';
import { createParallelLimit } from '../core/work/parallel-limit.js';
import { KeystoreError } from '../signers/local/keystore-error.js';
import { localKeys } from '../signers/local/local-keys.js';
import type { ConfigInForce, RelayerInForce } from './config-in-force.js';

/** The relayers with their chains, and all signers. */
export interface OpenedRelayers {
  readonly directory: ChangeableDirectory;
  readonly signers: Signers;
  /** The public keys of the hosted signers. */
  readonly pins: readonly PinnedKey[];
}

/** Keystores are opened in turn: there may be thousands, and their decryption uses few threads. */
const { run: inTurn } = createParallelLimit(8);

/**
 * Opens the keystores and the hosted keys, and gives each relayer its signer and its chain. Throws ConfigError with every key that cannot be opened and
 * every account that two relayers share. Needs no node.
 */
export async function openRelayers(config: ConfigInForce, chains: Chains, hostedKeys: HostedKeys): Promise<OpenedRelayers> {
  const { signers, accounts, problems, pins } = await openAccounts(config, hostedKeys);
  if (problems.length > 0) {
    await closeSigners(signers);
    throw new ConfigError(problems);
  }
  const entries = await Promise.all(
    accounts.map(async ({ origin, entry, signer, address }): Promise<DirectoryEntry> => {
      if (signer === undefined || address === null) throw new Error(`${origin} has no signer`);
      return { relayer: { ...entry, address, disabledReason: null }, signer, chain: await chains.acquire(entry.network, nodesOf(entry)) };
    }),
  );
  return { directory: createDirectory(entries), signers, pins };
}

/** Ends what hosted signers have open. */
export async function closeSigners(signers: Pick<Signers, 'all'>): Promise<void> {
  await Promise.all(signers.all().map((signer) => signer.close?.()));
}

/** The signers of a configuration, and the account of each of its relayers. */
interface OpenedAccounts {
  readonly signers: Signers;
  /** The signer and the address are missing if a problem says why. */
  readonly accounts: readonly (RelayerInForce & { readonly signer: Signer | undefined; readonly address: string | null })[];
  readonly problems: readonly Problem[];
  readonly pins: readonly PinnedKey[];
}

/** A hosted key of the file or of the API; only the file's secrets can change. */
type OpenableKey = Pick<HostedSignerEntry, 'id' | 'hosted'> & Partial<HostedSignerEntry>;

/** Decrypts the keystores, opens the hosted keys, and finds each relayer's account. Needs no node. */
export async function openAccounts(
  config: Pick<ConfigInForce, 'fileSigners' | 'storedKeys' | 'pinnedKeys' | 'relayers'>,
  hostedKeys: HostedKeys,
): Promise<OpenedAccounts> {
  const problems: Problem[] = [];
  const pins: PinnedKey[] = [];
  const opened = await Promise.all([
    ...config.fileSigners.map(async ({ entry, origin }) => ({
      sealed: null,
      signer: 'hosted' in entry ? await openHosted(entry, origin) : await inTurn(() => openFileSigner(entry, `${origin}.config`, problems)),
    })),
    ...config.storedKeys.map(async (entry) => ({
      sealed: entry.sealed,
      signer: 'hosted' in entry ? await openHosted(entry, `the stored signer ${entry.id}`) : openStoredKey(entry),
    })),
  ]);
  const signers = createSigners();
  for (const { signer, sealed } of opened) if (signer !== null) signers.add(signer, sealed);

  const accounts = await Promise.all(
    config.relayers.map(async ({ origin, entry }) => {
      const held = signers.find(entry.signerId);
      const found = held && keyFor(held, entry.networkType);
      if (typeof found === 'string') problems.push({ path: `${origin}.signer_id`, problem: found });
      const signer = typeof found === 'string' ? undefined : found;
      return { origin, entry, signer, address: signer === undefined ? null : await accountOf(entry.networkType, signer) };
    }),
  );
  return {
    signers,
    accounts,
    problems: [
      ...problems,
      ...accountProblems(accounts.map(({ origin, entry: { id, network }, address }) => ({ origin, id, network, address }))),
    ],
    pins,
  };

  async function openHosted({ id, hosted, secretsInFiles }: OpenableKey, origin: string): Promise<HeldSigner | null> {
    try {
      const pinned = config.pinnedKeys.find(({ signerId }) => signerId === id) ?? null;
      const { signer, pin } = await hostedKeys.open(id, hosted, pinned, secretsInFiles);
      pins.push(pin);
      return signer;
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      const [field] = error.fields;
      problems.push(
        field === undefined ? { path: origin, problem: error.message } : { path: `${origin}.${field.field}`, problem: field.description },
      );
      return null;
    }
  }
}

/** Returns the account address of a key on networks of this type, in their notation. */
export async function accountOf(type: NetworkType, signer: Signer): Promise<string> {
  if (signer.curve === 'secp256k1') return signer.address;
  const { addressFromPublicKey } = await (type === 'stellar'
    ? import('../chains/stellar/address.js')
    : import('../chains/solana/address.js'));
  return addressFromPublicKey(signer.publicKey);
}

/** Makes the signer of a stored key, and overwrites the key. */
export function openStoredKey({ id, privateKey }: { readonly id: string; readonly privateKey: Buffer }): HeldSigner {
  const signer = localKeys.open(id, privateKey);
  privateKey.fill(0);
  return signer;
}

async function openFileSigner({ id, keystore, passphrase }: LocalSignerEntry, at: string, problems: Problem[]): Promise<HeldSigner | null> {
  try {
    return await keystore.open(id, passphrase);
  } catch (error) {
    if (!(error instanceof KeystoreError)) throw error;
    problems.push({ path: error.problem === 'wrong_passphrase' ? `${at}.passphrase` : `${at}.path`, problem: error.message });
    return null;
  }
}

/** Throws ConfigError if the key of a relayer has changed while transactions of its earlier account are open: nothing would settle them. */
export async function requireUnmovedAccounts(store: Parameters<typeof findMovedAccounts>[0], relayers: readonly Relayer[]): Promise<void> {
  const moved = await findMovedAccounts(store, relayers);
  if (moved.length > 0) throw new ConfigError(moved.map(movedProblem));
}

function movedProblem({ relayerId, account, openTransactions }: MovedAccount): Problem {
  const count = openTransactions === 1 ? '1 open transaction' : `${openTransactions} open transactions`;
  return {
    path: `relayer ${relayerId}`,
    problem: `the account of its signer has changed, but ${account} still has ${count}; restore the signer or the network until they are final, or cancel them`,
  };
}
