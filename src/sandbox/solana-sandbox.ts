import { createRequire } from 'node:module';
import type { SolanaNetwork } from '../core/records/network.js';
import { startChainProgram } from './chain-program.js';
import { localNetwork, rpcCall, type SandboxChain } from './sandbox-chain.js';

const program = new URL('./solana-cluster.js', import.meta.url);

/** Receivers without known keys. Their accounts exist, so a small payment need not pay the rent of a new account. */
const receivers = ['37R4ikPi3VK4VZxjgSZTtmiEadgSQ6FBBaJMH1iZLRyY', 'ARJRcbCyCPaWLWvWc8YctPzsv9wbkJ7hxbTME4qaVmDX'];
/** 1,000 SOL. */
const fundsLamports = 1_000_000_000_000;
/** A real cluster takes 32 blocks, which is a minute with blocks of 2 s. */
const finalizedAfterBlocks = 3;
/** How often the service polls the chain if blocks come only on command. */
const idleBlockMs = 400;

/**
 * Starts a local Solana cluster: the network's own runtime in a program beside this one. Returns a sentence for the user if the runtime is
 * not installed, as in an installation without the development dependencies.
 *
 * @param blockSeconds 0: the node makes a block only on command
 */
export async function startSolanaSandbox(blockSeconds: number): Promise<SandboxChain | string> {
  const accounts = receivers.flatMap((receiver) => ['--account', `${receiver}:1000000000`]);
  const times = ['--slot-ms', String(blockSeconds * 1000), '--finalized-after', String(finalizedAfterBlocks)];
  if (!isRuntimeInstalled()) return 'no Solana relayer: its local cluster needs the package litesvm (npm install litesvm)';
  // Two nodes agree at once that an attempt has expired; the only one would have to prove it twice, minutes apart.
  const cluster = await startChainProgram(program, ['--second-node', ...times, ...accounts]);
  const [, rpcUrl, secondUrl] = /^Listening on (\S+) (\S+)$/.exec(cluster.firstLine) ?? [];
  if (rpcUrl === undefined || secondUrl === undefined)
    throw new Error(`the local Solana cluster printed an unexpected line: ${cluster.firstLine}`);
  const network: SolanaNetwork = {
    name: 'sandbox-solana',
    type: 'solana',
    rpcUrls: [rpcUrl, secondUrl].map((url) => ({ url, weight: 100 })),
    averageBlockTimeMs: 1000 * blockSeconds || idleBlockMs,
    symbol: 'SOL',
    ...localNetwork,
  };
  const [first = '', second = ''] = receivers;
  return {
    relayerId: 'sandbox-solana',
    relayerName: 'Sandbox on Solana',
    network,
    policies: {
      network: 'solana',
      minBalanceLamports: 0n,
      maxAllowedFeeLamports: null,
      allowedPrograms: null,
      allowedAccounts: null,
      disallowedAccounts: [],
      maxSignatures: null,
      maxTxDataSizeBytes: 1232,
      allowAccountChanges: [],
      rules: null,
      signing: null,
    },
    startMessage: `started a local Solana cluster at ${rpcUrl}`,
    commands: (address) => ({
      networkName: 'Solana',
      send: payment(address, first, 1n),
      replace: payment(address, second, 2n),
      // A cluster that makes blocks by itself takes the first attempt before anyone can let it expire.
      makeBlock:
        blockSeconds > 0
          ? null
          : {
              title: 'let the first attempt expire, as if the network had lost it; then the replacement lands',
              command: `curl -s ${rpcUrl}/expire`,
            },
    }),
    // Each start begins a new chain.
    isNewTo: async () => true,
    async fund(address) {
      await rpcCall(rpcUrl, 'requestAirdrop', [address, fundsLamports]);
      const { ok, status } = await fetch(`${rpcUrl}/advance`);
      if (!ok) throw new Error(`the local Solana cluster did not fund ${address}: HTTP ${status}`);
    },
    stop: cluster.stop,
  };
}

function isRuntimeInstalled(): boolean {
  try {
    createRequire(import.meta.url).resolve('litesvm');
    return true;
  } catch {
    return false;
  }
}

/** Returns the body of a payment in SOL: instruction 2 of the system program, then the amount. */
function payment(payer: string, receiver: string, sol: bigint): string {
  const data = Buffer.alloc(12);
  data.writeUInt32LE(2);
  data.writeBigUInt64LE(sol * 1_000_000_000n, 4);
  const accounts = [
    { pubkey: payer, is_signer: true, is_writable: true },
    { pubkey: receiver, is_signer: false, is_writable: true },
  ];
  const instruction = { program_id: '11111111111111111111111111111111', accounts, data: data.toString('base64') };
  return JSON.stringify({ instructions: [instruction] });
}
