import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { createEvmChain } from '../chains/evm/evm-chain.js';
import { chainKeyOf, type EvmNetwork } from '../core/records/network.js';
import { defaultPolicies, type EvmPolicies } from '../core/records/relayer.js';
import { pause } from '../core/work/abort.js';
import type { Log } from '../core/work/log.js';
import { openStore } from '../storage/open-store.js';
import { killerOf } from './chain-program.js';
import { freePort } from './free-port.js';
import { localNetwork, rpcCall, type SandboxChain } from './sandbox-chain.js';

const sandboxChainId = 31337;
/** 1000 ETH. */
const fundsWei = 10n ** 21n;

const policies: EvmPolicies = { ...defaultPolicies.evm, minBalanceWei: 0n };

/**
 * Starts anvil on the port. If a node with the sandbox's chain ID already listens there, uses it and leaves it running.
 *
 * @param wantedPort 0: a free one
 * @param blockTimeSeconds 0: the node mines a block only on command
 */
export async function startEvmSandbox(wantedPort: number, blockTimeSeconds: number, log: Log): Promise<SandboxChain> {
  const port = wantedPort === 0 ? await freePort() : wantedPort;
  const rpcUrl = `http://127.0.0.1:${port}`;
  const present = await chainIdAt(rpcUrl);
  if (present !== null && present !== sandboxChainId) {
    throw new Error(`port ${port} is in use by a node of chain ${present}; set SANDBOX_RPC_PORT to another port`);
  }
  const node = present === null ? await startAnvil(port, rpcUrl, blockTimeSeconds) : null;
  const network = networkAt(rpcUrl, blockTimeSeconds);
  const mine = `curl -s -H "Content-Type: application/json" ${rpcUrl} -d '{"jsonrpc":"2.0","id":1,"method":"anvil_mine","params":[]}'`;
  return {
    relayerId: 'sandbox',
    relayerName: 'Sandbox',
    network,
    policies,
    startMessage: `${node === null ? 'using the local EVM chain that is already running' : 'started a local EVM chain'}: chain ${sandboxChainId} at ${rpcUrl}`,
    commands: () => ({
      networkName: 'EVM',
      // Larger than 2^53: shows that the API reads numbers exactly.
      send: '{"to":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8","value":1000000000000000001,"speed":"fast"}',
      replace: '{"to":"0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC","value":2,"speed":"fastest"}',
      makeBlock: blockTimeSeconds === 0 ? { title: 'mine a block', command: mine } : null,
    }),
    isNewTo: (databaseUrl) => isOtherChain(databaseUrl, network, log),
    fund: async (address) => void (await rpcCall(rpcUrl, 'hardhat_setBalance', [address, `0x${fundsWei.toString(16)}`])),
    stop: async () => node?.stop(),
  };
}

function networkAt(rpcUrl: string, blockTimeSeconds: number): EvmNetwork {
  return {
    name: 'sandbox',
    type: 'evm',
    chainId: BigInt(sandboxChainId),
    rpcUrls: [{ url: rpcUrl, weight: 100 }],
    averageBlockTimeMs: 1000 * (blockTimeSeconds || 1),
    eip1559: true,
    symbol: 'ETH',
    ...localNetwork,
  };
}

async function startAnvil(port: number, rpcUrl: string, blockTimeSeconds: number): Promise<{ stop(): Promise<void> }> {
  const mining = blockTimeSeconds === 0 ? ['--no-mining'] : ['--block-time', String(blockTimeSeconds)];
  const child = spawn(anvilBinary(), ['--port', String(port), '--chain-id', String(sandboxChainId), '--silent', ...mining], {
    stdio: 'ignore',
  });
  const stop = killerOf(child);
  child.once('error', () => {});
  while ((await chainIdAt(rpcUrl)) !== sandboxChainId) {
    if (child.exitCode !== null || child.pid === undefined) {
      throw new Error(`the local EVM chain cannot start on port ${port}: another program uses it; set SANDBOX_RPC_PORT to another port`);
    }
    await pause(25);
  }
  return { stop };
}

/** Returns the path of the program itself: killing its npm wrapper would leave it running. */
function anvilBinary(): string {
  const os = process.platform;
  const cpu = process.arch === 'x64' ? 'amd64' : process.arch;
  try {
    return createRequire(import.meta.url).resolve(`@foundry-rs/anvil-${os}-${cpu}/bin/anvil`);
  } catch {
    throw new Error(
      `anvil is not installed for ${os} ${cpu}; run "npm install @foundry-rs/anvil", or start a node of chain ${sandboxChainId} yourself`,
    );
  }
}

async function chainIdAt(rpcUrl: string): Promise<number | null> {
  try {
    return Number(await rpcCall(rpcUrl, 'eth_chainId', []));
  } catch {
    return null;
  }
}

/** Returns true if the database stores a genesis block that is not the chain's, so its transactions belong to another chain. */
async function isOtherChain(databaseUrl: string, network: EvmNetwork, log: Log): Promise<boolean> {
  const chain = createEvmChain({ network, rpcUrls: network.rpcUrls, rpcTimeoutMs: 5_000, log });
  const { store } = await openStore(databaseUrl, { log });
  try {
    const stored = await store.read.genesisHash(chainKeyOf(network));
    return stored !== undefined && stored !== (await chain.genesisHash());
  } finally {
    await chain.close();
    await store.close();
  }
}
