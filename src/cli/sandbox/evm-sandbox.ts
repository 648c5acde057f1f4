import { type ChildProcess, spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import { createEvmChain } from '../../chains/evm/evm-chain.js';
import type { Log } from '../../core/ports/log.js';
import { chainKeyOf, type EvmNetwork } from '../../core/relayer/network.js';
import type { EvmPolicies } from '../../core/relayer/relayer.js';
import { openStore } from '../../storage/open-store.js';
import { rpcCall } from './rpc-call.js';
import { LocalChainError, type SandboxChain } from './sandbox-chain.js';

/** The chain id of the sandbox. */
const sandboxChainId = 31337;
/** 1000 ETH. */
const fundsWei = 10n ** 21n;

const policies: EvmPolicies = {
  network: 'evm',
  minBalanceWei: 0n,
  gasPriceCapWei: null,
  whitelistReceivers: null,
  eip1559Pricing: true,
  gasLimitEstimation: true,
  includeRevertData: false,
  maxInFlight: 16,
};

/**
 * Starts anvil on the port, or uses the node that is there when it answers the sandbox's chain id: that one is left running.
 *
 * @param blockTimeSeconds 0: a block is mined only when the node is told to
 */
export async function startEvmSandbox(port: number, blockTimeSeconds: number, log: Log): Promise<SandboxChain> {
  const rpcUrl = `http://127.0.0.1:${port}`;
  const present = await chainIdAt(rpcUrl);
  if (present !== null && present !== sandboxChainId) {
    throw new LocalChainError(`port ${port} is taken by a node of chain ${present}; set SANDBOX_RPC_PORT to another port`);
  }
  const node = present === null ? await startAnvil(port, rpcUrl, blockTimeSeconds) : null;
  const network = networkAt(rpcUrl, blockTimeSeconds);
  const mine = `curl -s -H "Content-Type: application/json" ${rpcUrl} -d '{"jsonrpc":"2.0","id":1,"method":"anvil_mine","params":[]}'`;
  return {
    relayerId: 'sandbox',
    relayerName: 'Sandbox',
    network,
    policies,
    told: `${node === null ? 'using the local chain that is there' : 'started a local chain'}: chain ${sandboxChainId} at ${rpcUrl}`,
    commands: () => ({
      networkName: 'EVM',
      // A number that loses no digit.
      send: '{"to":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8","value":1000000000000000001,"speed":"fast"}',
      replace: '{"to":"0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC","value":2,"speed":"fastest"}',
      makeBlock: blockTimeSeconds === 0 ? { does: 'mine a block', command: mine } : null,
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
    requiredConfirmations: 1,
    averageBlockTimeMs: 1000 * (blockTimeSeconds || 1),
    eip1559: true,
    symbol: 'ETH',
    isTestnet: true,
    tags: [],
    explorerUrls: [],
  };
}

async function startAnvil(port: number, rpcUrl: string, blockTimeSeconds: number): Promise<{ stop(): Promise<void> }> {
  const mining = blockTimeSeconds === 0 ? ['--no-mining'] : ['--block-time', String(blockTimeSeconds)];
  const child = spawn(anvilBinary(), ['--port', String(port), '--chain-id', String(sandboxChainId), '--silent', ...mining], {
    stdio: 'ignore',
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.once('error', () => {});
  while ((await chainIdAt(rpcUrl)) !== sandboxChainId) {
    if (child.exitCode !== null || child.pid === undefined) {
      throw new LocalChainError(
        `the local chain could not start on port ${port}: the port is taken by something else; set SANDBOX_RPC_PORT to another port`,
      );
    }
    await delay(25);
  }
  return { stop: () => stop(child, ended) };
}

async function stop(child: ChildProcess, ended: Promise<void>): Promise<void> {
  // It keeps nothing that would have to be saved.
  child.kill('SIGKILL');
  await ended;
}

/** The program itself: its npm wrapper would leave it running when it is killed. */
function anvilBinary(): string {
  const os = process.platform;
  const cpu = process.arch === 'x64' ? 'amd64' : process.arch;
  try {
    return createRequire(import.meta.url).resolve(`@foundry-rs/anvil-${os}-${cpu}/bin/anvil`);
  } catch {
    throw new LocalChainError(
      `the local chain is not installed for ${os} ${cpu}: install the development dependencies (npm ci), or start a node of chain ${sandboxChainId} yourself`,
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

/** True when the database remembers another genesis block than the chain has: its transactions are not of this chain. */
async function isOtherChain(databaseUrl: string, network: EvmNetwork, log: Log): Promise<boolean> {
  const chain = createEvmChain({ network, rpcUrls: network.rpcUrls, rpcTimeoutMs: 5_000, log });
  const { store } = await openStore(databaseUrl, { log });
  try {
    const remembered = await store.read.genesisHash(chainKeyOf(network));
    return remembered !== undefined && remembered !== (await chain.genesisHash());
  } finally {
    await chain.close();
    await store.close();
  }
}
