import { join } from 'node:path';
import type { Command } from 'commander';
import { startApp } from '../app.js';
import { createEvmChain } from '../chains/evm/evm-chain.js';
import { processEnvironment } from '../config/environment.js';
import { loadSettings } from '../config/settings.js';
import type { Log } from '../core/ports/log.js';
import { chainKeyOf, type Network } from '../core/relayer/network.js';
import { initKeccak } from '../crypto/keccak.js';
import { createLogger } from '../observability/logger.js';
import { openStore } from '../storage/open-store.js';
import { CliError } from './cli-error.js';
import { writeLine } from './output.js';
import { greeting } from './sandbox/greeting.js';
import { LocalChainError, sandboxChainId, startLocalChain } from './sandbox/local-chain.js';
import { rpcCall } from './sandbox/rpc-call.js';
import { sandboxConfig, sandboxEnvironment, sandboxNetwork } from './sandbox/sandbox-config.js';
import { openSandboxHome } from './sandbox/sandbox-home.js';
import { startWebhookReceiver } from './sandbox/webhook-receiver.js';
import { untilSignalled } from './until-signalled.js';

const homeDir = join('data', 'sandbox');
/** 1000 ETH. */
const fundsWei = 10n ** 21n;

/** `relayer dev`: the sandbox. */
export function registerDev(program: Command): void {
  program
    .command('dev')
    .description('run a sandbox: the service with a local chain, a funded relayer and a webhook receiver')
    .addHelpText(
      'after',
      `
All that it keeps is in ${homeDir}. SANDBOX_RPC_PORT (8545) is the port of the local chain, SANDBOX_BLOCK_TIME (2) its seconds between
blocks; with 0 it mines only when told. HOST, APP_PORT, API_KEY and LOG_LEVEL work as for serve.

Example:
  SANDBOX_BLOCK_TIME=0 relayer dev`,
    )
    .action(dev);
}

async function dev(): Promise<void> {
  const releasers: (() => Promise<unknown>)[] = [];
  const signalled = untilSignalled();
  try {
    await initKeccak();
    const home = await openSandboxHome(homeDir);
    const settings = loadSettings(sandboxEnvironment(processEnvironment(), home));
    const log = createLogger({ level: settings.logLevel });
    const { sandboxRpcPort, sandboxBlockTimeSeconds } = settings;

    const chain = await startLocalChain(sandboxRpcPort, sandboxBlockTimeSeconds);
    releasers.push(chain.stop);
    writeLine(
      `${chain.isOurs ? 'started a local chain' : 'using the local chain that is there'}: chain ${sandboxChainId} at ${chain.rpcUrl}`,
    );
    const network = sandboxNetwork(chain.rpcUrl, sandboxBlockTimeSeconds);
    if (await isOtherChain(settings.databaseUrl, network, log)) {
      await home.renewDatabase();
      writeLine('this chain is a new one, so a new database is started; the one before is kept as relayer.previous.db');
    }

    const receiver = await startWebhookReceiver(home.webhookSigningKey, writeLine);
    releasers.push(receiver.stop);
    const app = await startApp(settings, sandboxConfig(home, network, receiver.url), log);
    releasers.push(app.stop);
    const relayerAddress = app.relayers[0]?.address ?? '';
    await rpcCall(chain.rpcUrl, 'hardhat_setBalance', [relayerAddress, `0x${fundsWei.toString(16)}`]);

    const baseUrl = `http://${app.host}:${app.port}`;
    const minesItself = sandboxBlockTimeSeconds > 0;
    for (const line of greeting({ baseUrl, token: settings.apiKey, relayerAddress, rpcUrl: chain.rpcUrl, minesItself })) writeLine(line);
    await signalled;
    writeLine('\nstopping');
  } catch (error) {
    throw error instanceof LocalChainError ? new CliError(error.message) : error;
  } finally {
    for (const release of releasers.reverse()) await release();
  }
}

/** True when the database remembers another genesis block than the chain has: its transactions are not of this chain. */
async function isOtherChain(databaseUrl: string, network: Network, log: Log): Promise<boolean> {
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
