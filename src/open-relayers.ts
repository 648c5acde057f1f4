import { readFile } from 'node:fs/promises';
import { fileProblem } from './config/json-file.js';
import { ConfigError, type Problem } from './config/problem.js';
import { accountProblems } from './config/relayer-entries.js';
import type { LocalSignerEntry } from './config/signer-entries.js';
import type { ConfigInForce } from './config-in-force.js';
import type { Signer } from './core/ports/signer.js';
import { type ChangeableDirectory, createDirectory, type DirectoryEntry } from './core/relayer/create-directory.js';
import { curveOf, type NetworkType } from './core/relayer/network.js';
import { type Chains, nodesOf } from './core/relayer/relayer-registry.js';
import { createSigners, type HeldSigner, type Signers } from './core/signer/signers.js';
import { KeystoreError } from './signers/local/keystore-error.js';
import { localKeys } from './signers/local/local-keys.js';
import { openSigner } from './signers/local/open-signer.js';

/** The relayers with their chains, and all signers. */
export interface OpenedRelayers {
  readonly directory: ChangeableDirectory;
  readonly signers: Signers;
}

/**
 * Opens the keystores and gives each relayer its signer and its chain. Throws ConfigError with every keystore that cannot be opened and
 * every account that two relayers share. Needs no node. `initKeccak` must have resolved.
 */
export async function openRelayers(config: ConfigInForce, chains: Chains): Promise<OpenedRelayers> {
  const { signers, accounts, problems } = await openAccounts(config);
  if (problems.length > 0) throw new ConfigError(problems);
  const entries = await Promise.all(
    accounts.map(async ({ origin, signer, address, ...entry }): Promise<DirectoryEntry> => {
      if (signer === undefined || address === null) throw new Error(`${origin} has no signer`);
      return { relayer: { ...entry, address, disabledReason: null }, signer, chain: await chains.acquire(entry.network, nodesOf(entry)) };
    }),
  );
  return { directory: createDirectory(entries), signers };
}

/** The signers of a configuration, and the account of each of its relayers. */
interface OpenedAccounts {
  readonly signers: Signers;
  /** The signer and the address are missing if a problem says why. */
  readonly accounts: readonly (ConfigInForce['relayers'][number] & {
    readonly signer: Signer | undefined;
    readonly address: string | null;
  })[];
  readonly problems: readonly Problem[];
}

/** Opens the keystores, and finds each relayer's account. Needs no node. `initKeccak` must have resolved. */
export async function openAccounts(config: Pick<ConfigInForce, 'fileSigners' | 'storedKeys' | 'relayers'>): Promise<OpenedAccounts> {
  const problems: Problem[] = [];
  const fromFile = await Promise.all(config.fileSigners.map(({ entry, origin }) => openFileSigner(entry, `${origin}.config`, problems)));
  const signers = createSigners([...fromFile.filter((signer) => signer !== null), ...config.storedKeys.map(openStoredKey)]);

  const accounts = await Promise.all(
    config.relayers.map(async ({ origin, ...entry }) => {
      const curve = curveOf(entry.networkType);
      const held = signers.find(entry.signerId);
      const signer = held?.on(curve);
      if (held !== undefined && signer === undefined)
        problems.push({ path: `${origin}.signer_id`, problem: `the signer has no ${curve} key` });
      return { ...entry, origin, signer, address: signer === undefined ? null : await accountOf(entry.networkType, signer) };
    }),
  );
  return { signers, accounts, problems: [...problems, ...accountProblems(accounts)] };
}

/** Returns the account address of a key on networks of this type, in their notation. */
export async function accountOf(type: NetworkType, signer: Signer): Promise<string> {
  if (signer.curve === 'secp256k1') return signer.address;
  const { addressFromPublicKey } = await (type === 'stellar'
    ? import('./chains/stellar/address.js')
    : import('./chains/solana/address.js'));
  return addressFromPublicKey(signer.publicKey);
}

function openStoredKey({ id, privateKey }: ConfigInForce['storedKeys'][number]): HeldSigner {
  const signer = localKeys.open(id, privateKey);
  privateKey.fill(0);
  return signer;
}

async function openFileSigner({ id, path, passphrase }: LocalSignerEntry, at: string, problems: Problem[]): Promise<HeldSigner | null> {
  let json: string;
  try {
    json = await readFile(path, 'utf8');
  } catch (error) {
    problems.push({ path: `${at}.path`, problem: `the keystore file ${path} ${fileProblem(error)}` });
    return null;
  }
  try {
    return await openSigner({ id, json, passphrase });
  } catch (error) {
    if (!(error instanceof KeystoreError)) throw error;
    problems.push({ path: error.problem === 'wrong_passphrase' ? `${at}.passphrase` : `${at}.path`, problem: error.message });
    return null;
  }
}
