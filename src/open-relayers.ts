import { readFile } from 'node:fs/promises';
import { accountProblems } from './config/account-problems.js';
import type { LoadedConfig } from './config/config-file.js';
import { fileProblem } from './config/file-problem.js';
import { ConfigError, type Problem } from './config/problem.js';
import type { LocalSignerEntry } from './config/signer-entries.js';
import type { Chain } from './core/ports/chain.js';
import type { Directory } from './core/ports/directory.js';
import type { Log } from './core/ports/log.js';
import type { Curve, Signer } from './core/ports/signer.js';
import type { Telemetry } from './core/ports/telemetry.js';
import { createDirectory, type DirectoryEntry } from './core/relayer/create-directory.js';
import { curveOf, type Network, type NetworkType, type RpcUrl } from './core/relayer/network.js';
import { curvesOfKeystore } from './signers/local/curves-of-keystore.js';
import { KeystoreError } from './signers/local/keystore-error.js';
import { openSigner } from './signers/local/open-signer.js';

/** The configured relayers with their chains and open signers. */
export interface OpenedRelayers {
  readonly directory: Directory;
  /** Closes the connections to nodes. */
  close(): Promise<void>;
}

/**
 * Opens the keystores of the configuration and gives each relayer its signer and its chain; relayers that use the same nodes share one.
 * Throws ConfigError with every keystore that cannot be opened and every account that two relayers have. Asks no node. `initKeccak` must have
 * resolved.
 */
export async function openRelayers(config: LoadedConfig, rpcTimeoutMs: number, log: Log, telemetry: Telemetry): Promise<OpenedRelayers> {
  const problems: Problem[] = [];
  const signers = await openSigners(config, problems);
  const accounts = await Promise.all(
    config.relayers.map(async (entry) => {
      const signer = signers.get(signerKey(entry.signerId, curveOf(entry.networkType)));
      return { ...entry, signer, address: signer === undefined ? null : await addressOf(entry.networkType, signer) };
    }),
  );
  problems.push(...accountProblems(accounts));
  if (problems.length > 0) throw new ConfigError(problems);

  const chains = new Map<string, Promise<Chain>>();
  function chainOf(network: Network, rpcUrls: readonly RpcUrl[]): Promise<Chain> {
    const key = JSON.stringify([network.type, network.name, rpcUrls]);
    const chain = chains.get(key) ?? createChain(network, { rpcUrls, rpcTimeoutMs, log, telemetry });
    chains.set(key, chain);
    return chain;
  }

  const entries = await Promise.all(
    accounts.map(async ({ signer, address, ...entry }): Promise<DirectoryEntry> => {
      if (signer === undefined || address === null) throw new Error(`relayer ${entry.id} has no signer`);
      const rpcUrls = entry.customRpcUrls.length > 0 ? entry.customRpcUrls : entry.network.rpcUrls;
      return { relayer: { ...entry, address, disabledReason: null }, signer, chain: await chainOf(entry.network, rpcUrls) };
    }),
  );
  return {
    directory: createDirectory(entries),
    close: async () => void (await Promise.all([...chains.values()].map(async (chain) => (await chain).close()))),
  };
}

/** What a chain of any kind is opened with beside its network. */
interface ChainOptions {
  readonly rpcUrls: readonly RpcUrl[];
  readonly rpcTimeoutMs: number;
  readonly log: Log;
  readonly telemetry: Telemetry;
}

/** The chain of a network. Only the kinds that are used are loaded: each library costs time at the start, and memory. */
async function createChain(network: Network, options: ChainOptions): Promise<Chain> {
  switch (network.type) {
    case 'evm':
      return (await import('./chains/evm/evm-chain.js')).createEvmChain({ network, ...options });
    case 'stellar':
      return (await import('./chains/stellar/stellar-chain.js')).createStellarChain({ network, ...options });
    case 'solana':
      return (await import('./chains/solana/solana-chain.js')).createSolanaChain({ network, ...options });
  }
}

/** The address of a signer's account on networks of a kind. */
async function addressOf(type: NetworkType, signer: Signer): Promise<string> {
  if (signer.curve === 'secp256k1') return signer.address;
  const { addressFromPublicKey } = await (type === 'stellar'
    ? import('./chains/stellar/address.js')
    : import('./chains/solana/address.js'));
  return addressFromPublicKey(signer.publicKey);
}

/** The signers by `signerKey`, each on the curves that its relayers need. */
async function openSigners({ signers, relayers }: LoadedConfig, problems: Problem[]): Promise<Map<string, Signer>> {
  const opened = new Map<string, Signer>();
  await Promise.all(
    signers.map(async (entry, index) => {
      const users = relayers.filter(({ signerId }) => signerId === entry.id);
      const needed = new Set(users.map(({ networkType }) => curveOf(networkType)));
      for (const signer of await openKeystore(entry, needed, `signers[${index}].config`, problems)) {
        opened.set(signerKey(entry.id, signer.curve), signer);
      }
    }),
  );
  return opened;
}

function signerKey(id: string, curve: Curve): string {
  return `${curve} ${id}`;
}

/** The signers of a keystore's key: on the curves that are needed, and where none is on its own, so that a wrong passphrase is told all the same. */
async function openKeystore(
  { id, path, passphrase }: LocalSignerEntry,
  needed: ReadonlySet<Curve>,
  at: string,
  problems: Problem[],
): Promise<readonly Signer[]> {
  let json: string;
  try {
    json = await readFile(path, 'utf8');
  } catch (error) {
    problems.push({ path: `${at}.path`, problem: `the keystore file ${path} ${fileProblem(error)}` });
    return [];
  }
  try {
    const curves = needed.size > 0 ? [...needed] : curvesOfKeystore(json).slice(0, 1);
    return await Promise.all(curves.map((curve) => openSigner({ id, json, passphrase, curve })));
  } catch (error) {
    if (!(error instanceof KeystoreError)) throw error;
    problems.push({ path: error.problem === 'wrong_passphrase' ? `${at}.passphrase` : `${at}.path`, problem: error.message });
    return [];
  }
}
