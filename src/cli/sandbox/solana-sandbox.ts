import type { SolanaNetwork } from '../../core/relayer/network.js';
import { rpcCall } from './rpc-call.js';
import { LocalChainError, type SandboxChain } from './sandbox-chain.js';
import { startTestProgram } from './test-program.js';

const program = 'test/local-chains/solana/main.ts';

/** Who is paid; nobody has their keys. They have accounts, so that no payment is too small to make one. */
const receivers = ['37R4ikPi3VK4VZxjgSZTtmiEadgSQ6FBBaJMH1iZLRyY', 'ARJRcbCyCPaWLWvWc8YctPzsv9wbkJ7hxbTME4qaVmDX'];
/** 1,000 SOL. */
const fundsLamports = 1_000_000_000_000;
/** So that nobody waits a minute for the end. */
const finalizedAfterBlocks = 3;
/** How often the chain is looked at where blocks come only when told. */
const idleBlockMs = 400;

/**
 * Starts a local Solana: the network's own runtime, in a program of the test suite. A sentence that says why where it is not there.
 *
 * @param blockSeconds 0: a block is made only when the node is told to
 */
export async function startSolanaSandbox(blockSeconds: number): Promise<SandboxChain | string> {
  const accounts = receivers.flatMap((receiver) => ['--account', `${receiver}:1000000000`]);
  const times = ['--slot-ms', String(blockSeconds * 1000), '--finalized-after', String(finalizedAfterBlocks)];
  const cluster = await startTestProgram(program, [...times, ...accounts]);
  if (cluster === null) {
    return `there is no relayer on Solana: its local chain is a part of the tests (${program}) and needs the development dependencies (npm ci)`;
  }
  const [, rpcUrl] = /^Listening on (\S+)$/.exec(cluster.said) ?? [];
  if (rpcUrl === undefined) throw new LocalChainError(`the local Solana said ${cluster.said}`);
  const network: SolanaNetwork = {
    name: 'sandbox-solana',
    type: 'solana',
    rpcUrls: [{ url: rpcUrl, weight: 100 }],
    requiredConfirmations: 1,
    averageBlockTimeMs: 1000 * blockSeconds || idleBlockMs,
    symbol: 'SOL',
    isTestnet: true,
    tags: [],
    explorerUrls: [],
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
    },
    told: `started a local Solana at ${rpcUrl}`,
    commands: (address) => ({
      networkName: 'Solana',
      send: payment(address, first, 1n),
      replace: payment(address, second, 2n),
      makeBlock: {
        does: 'let what was sent die, as when the network loses it: what replaced it lands',
        command: `curl -s ${rpcUrl}/expire`,
      },
    }),
    // It began with this start, as every time.
    isNewTo: async () => true,
    async fund(address) {
      await rpcCall(rpcUrl, 'requestAirdrop', [address, fundsLamports]);
      const { ok, status } = await fetch(`${rpcUrl}/advance`);
      if (!ok) throw new LocalChainError(`the local Solana did not fund ${address}: ${status}`);
    },
    stop: cluster.stop,
  };
}

/** A body that moves so many SOL: the system program's instruction 2, and the amount. */
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
