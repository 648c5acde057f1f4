import { startApp } from '../app/app.js';
import type { LoadedConfig } from '../config/config-file.js';
import { type Environment, processEnvironment } from '../config/environment.js';
import { bundledNetworkList } from '../config/network-entries.js';
import { loadSettings } from '../config/settings.js';
import { curveOf } from '../core/records/network.js';
import { openLogs } from '../observability/open-logs.js';
import { startEvmSandbox } from '../sandbox/evm-sandbox.js';
import { greeting } from '../sandbox/greeting.js';
import { otherChains } from '../sandbox/other-chains.js';
import type { SandboxChain } from '../sandbox/sandbox-chain.js';
import { openSandboxHome, type SandboxHome } from '../sandbox/sandbox-home.js';
import { startWebhookReceiver } from '../sandbox/webhook-receiver.js';
import { checkPortIsFree } from './check-port-is-free.js';
import { takeStopSignals } from './stop-signals.js';
import { writeLine } from './terminal/output.js';

/** Runs the sandbox with its files in this folder, until a signal stops it. */
export async function runDev(homeDir: string): Promise<void> {
  const releasers: (() => Promise<unknown>)[] = [];
  const signalled = takeStopSignals(() => 1).next();
  try {
    const home = await openSandboxHome(homeDir);
    const settings = loadSettings(sandboxEnvironment(processEnvironment(), home));
    await checkPortIsFree(settings);
    const log = await openLogs(settings);
    releasers.push(async () => log.endAudit());
    const { sandboxRpcPort, sandboxBlockTimeSeconds } = settings;

    const chains: SandboxChain[] = [];
    const add = (chain: SandboxChain): void => {
      releasers.push(chain.stop);
      chains.push(chain);
      writeLine(chain.startMessage);
    };
    add(await startEvmSandbox(sandboxRpcPort, sandboxBlockTimeSeconds, log));
    for (const start of otherChains) {
      const chain = await start(sandboxBlockTimeSeconds);
      if (typeof chain === 'string') writeLine(chain);
      else add(chain);
    }
    if (home.hasDatabase() && (await anyIsNew(chains, settings.databaseUrl))) {
      await home.renewDatabase();
      writeLine('the local chains are new: started a new database, and kept the previous one as relayer.previous.db');
    }

    const receiver = await startWebhookReceiver(home.webhookSigningKey, writeLine);
    releasers.push(receiver.stop);
    const app = await startApp(settings, sandboxConfig(home, chains, receiver.url), log);
    releasers.push(app.stop);
    const addresses = new Map(app.relayers.map(({ id, address }) => [id, address]));
    const relayers = chains.map((chain) => ({ chain, address: addresses.get(chain.relayerId) ?? '' }));
    await Promise.all(relayers.map(({ chain, address }) => chain.fund(address)));

    const baseUrl = `http://${app.host}:${app.port}`;
    for (const line of greeting(baseUrl, settings.apiKey, relayers)) writeLine(line);
    await signalled;
    writeLine('\nstopping');
  } finally {
    for (const release of releasers.reverse()) await release();
  }
}

/** Returns true if the database of an earlier start holds transactions of a chain that is not one of these. */
async function anyIsNew(chains: readonly SandboxChain[], databaseUrl: string): Promise<boolean> {
  for (const chain of chains) if (await chain.isNewTo(databaseUrl)) return true;
  return false;
}

/** Returns the user's environment with the sandbox's own database and keys. */
function sandboxEnvironment(env: Environment, home: SandboxHome): Environment {
  return {
    ...env,
    API_KEY: env.API_KEY || home.apiKey,
    LOG_LEVEL: env.LOG_LEVEL || 'warn',
    DATABASE_URL: home.databaseUrl,
    STORAGE_ENCRYPTION_KEY: home.storageEncryptionKey,
    WEBHOOK_ALLOW_PRIVATE: 'true',
  };
}

/** Returns a configuration with one relayer on each chain, whose webhooks go to the sandbox's receiver. */
function sandboxConfig(home: SandboxHome, chains: readonly SandboxChain[], receiverUrl: string): LoadedConfig {
  const { passphrase } = home;
  return {
    // Those of the service too, so that relayers can be created on them.
    networks: [...chains.map(({ network }) => network), ...bundledNetworkList()],
    signers: [
      { id: 'sandbox-secp256k1', keystore: home.secp256k1Keystore, passphrase },
      { id: 'sandbox-ed25519', keystore: home.ed25519Keystore, passphrase },
    ],
    plugins: [],
    notifications: [{ id: 'sandbox-webhook', url: receiverUrl, signingKey: home.webhookSigningKey }],
    relayers: chains.map(({ relayerId, relayerName, network, policies }) => ({
      id: relayerId,
      name: relayerName,
      network,
      networkType: network.type,
      signerId: `sandbox-${curveOf(network.type)}`,
      notificationId: 'sandbox-webhook',
      customRpcUrls: [],
      paused: false,
      policies,
      policiesVersion: 1,
      policiesLocked: false,
    })),
    notices: [],
    digests: new Map(),
    revision: 0,
  };
}
