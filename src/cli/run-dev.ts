import { startApp } from '../app.js';
import { createEvmChain } from '../chains/evm/evm-chain.js';
import { processEnvironment } from '../config/environment.js';
import { loadSettings } from '../config/settings.js';
import type { Log } from '../core/ports/log.js';
import { chainKeyOf, type EvmNetwork } from '../core/relayer/network.js';
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

/** 1000 ETH. */
const fundsWei = 10n ** 21n;

/** Runs the sandbox, with all that it keeps in this folder, until it is told to stop. */
export async function runDev(homeDir: string): Promise<void> {
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
