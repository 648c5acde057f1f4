import { readFile } from 'node:fs/promises';
import { createEvmChain } from './chains/evm/evm-chain.js';
import { accountProblems } from './config/account-problems.js';
import type { LoadedConfig } from './config/config-file.js';
import { fileProblem } from './config/file-problem.js';
import { ConfigError, type Problem } from './config/problem.js';
import type { LocalSignerEntry } from './config/signer-entries.js';
import type { Chain } from './core/ports/chain.js';
import type { Directory } from './core/ports/directory.js';
import type { Log } from './core/ports/log.js';
import type { Secp256k1Signer } from './core/ports/signer.js';
import type { Telemetry } from './core/ports/telemetry.js';
import { createDirectory, type DirectoryEntry } from './core/relayer/create-directory.js';
import type { EvmNetwork, RpcUrl } from './core/relayer/network.js';
import { openKeystore } from './signers/local/keystore.js';
import { KeystoreError } from './signers/local/keystore-error.js';
import { createLocalSigner } from './signers/local/local-signer.js';

/** The configured relayers with their chains and open signers. */
export interface OpenedRelayers {
  readonly directory: Directory;
  /** Closes the connections to nodes. */
  close(): Promise<void>;
}

/**
 * Opens the keystores of the configuration and gives each relayer its signer and its chain; relayers that use the same nodes share one.
 * Throws ConfigError with every keystore that cannot be opened and every account that two relayers have. Asks no node.
 */
export async function openRelayers(config: LoadedConfig, rpcTimeoutMs: number, log: Log, telemetry: Telemetry): Promise<OpenedRelayers> {
  const problems: Problem[] = [];
  const signers = await openSigners(config.signers, problems);
  if (problems.length > 0) throw new ConfigError(problems);

  const chains = new Map<string, Chain>();
  function chainOf(network: EvmNetwork, rpcUrls: readonly RpcUrl[]): Chain {
    const key = JSON.stringify([network.name, rpcUrls]);
    const chain = chains.get(key) ?? createEvmChain({ network, rpcUrls, rpcTimeoutMs, log, telemetry });
    chains.set(key, chain);
    return chain;
  }

  const entries = config.relayers.map((entry): DirectoryEntry => {
    const signer = signers.get(entry.signerId);
    if (signer === undefined) throw new Error(`relayer ${entry.id} has no signer`);
    const rpcUrls = entry.customRpcUrls.length > 0 ? entry.customRpcUrls : entry.network.rpcUrls;
    return { relayer: { ...entry, address: signer.address, disabledReason: null }, signer, chain: chainOf(entry.network, rpcUrls) };
  });
  const shared = accountProblems(entries.map(({ relayer }) => relayer));
  if (shared.length > 0) throw new ConfigError(shared);
  return {
    directory: createDirectory(entries),
    close: async () => void (await Promise.all([...chains.values()].map((chain) => chain.close()))),
  };
}

async function openSigners(entries: readonly LocalSignerEntry[], problems: Problem[]): Promise<Map<string, Secp256k1Signer>> {
  const signers = new Map<string, Secp256k1Signer>();
  await Promise.all(
    entries.map(async (entry, index) => {
      const signer = await openSigner(entry, `signers[${index}].config`, problems);
      if (signer !== null) signers.set(entry.id, signer);
    }),
  );
  return signers;
}

async function openSigner({ id, path, passphrase }: LocalSignerEntry, at: string, problems: Problem[]): Promise<Secp256k1Signer | null> {
  let json: string;
  try {
    json = await readFile(path, 'utf8');
  } catch (error) {
    problems.push({ path: `${at}.path`, problem: `the keystore file ${path} ${fileProblem(error)}` });
    return null;
  }
  try {
    const { privateKey } = await openKeystore(json, passphrase);
    const signer = createLocalSigner({ id, privateKey });
    privateKey.fill(0);
    return signer;
  } catch (error) {
    if (!(error instanceof KeystoreError)) throw error;
    problems.push({ path: error.problem === 'wrong_passphrase' ? `${at}.passphrase` : `${at}.path`, problem: error.message });
    return null;
  }
}
