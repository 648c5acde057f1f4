import { startApp } from '../app.js';
import { processEnvironment } from '../config/environment.js';
import { loadSettings } from '../config/settings.js';
import { initKeccak } from '../crypto/keccak.js';
import { createLogger } from '../observability/logger.js';
import { CliError } from './cli-error.js';
import { writeLine } from './output.js';
import { startEvmSandbox } from './sandbox/evm-sandbox.js';
import { greeting } from './sandbox/greeting.js';
import { LocalChainError, type SandboxChain } from './sandbox/sandbox-chain.js';
import { sandboxConfig, sandboxEnvironment } from './sandbox/sandbox-config.js';
import { openSandboxHome } from './sandbox/sandbox-home.js';
import { startSolanaSandbox } from './sandbox/solana-sandbox.js';
import { startStellarSandbox } from './sandbox/stellar-sandbox.js';
import { startWebhookReceiver } from './sandbox/webhook-receiver.js';
import { untilSignalled } from './until-signalled.js';

/** Chains beside the EVM one, each with its seconds between blocks; a sentence where there can be none. */
const otherChains: readonly ((blockSeconds: number) => Promise<SandboxChain | string>)[] = [startStellarSandbox, startSolanaSandbox];

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

    const chains: SandboxChain[] = [];
    const add = (chain: SandboxChain): void => {
      releasers.push(chain.stop);
      chains.push(chain);
      writeLine(chain.told);
    };
    add(await startEvmSandbox(sandboxRpcPort, sandboxBlockTimeSeconds, log));
    for (const start of otherChains) {
      const chain = await start(sandboxBlockTimeSeconds);
      if (typeof chain === 'string') writeLine(chain);
      else add(chain);
    }
    if (home.hasDatabase() && (await areNew(chains, settings.databaseUrl))) {
      await home.renewDatabase();
      writeLine('these chains are new ones, so a new database is started; the one before is kept as relayer.previous.db');
    }

    const receiver = await startWebhookReceiver(home.webhookSigningKey, writeLine);
    releasers.push(receiver.stop);
    const app = await startApp(settings, sandboxConfig(home, chains, receiver.url), log);
    releasers.push(app.stop);
    const addresses = new Map(app.relayers.map(({ id, address }) => [id, address]));
    const relayers = chains.map((chain) => ({ chain, address: addresses.get(chain.relayerId) ?? '' }));
    await Promise.all(relayers.map(({ chain, address }) => chain.fund(address)));

    const baseUrl = `http://${app.host}:${app.port}`;
    for (const line of greeting({ baseUrl, token: settings.apiKey, relayers })) writeLine(line);
    await signalled;
    writeLine('\nstopping');
  } catch (error) {
    throw error instanceof LocalChainError ? new CliError(error.message) : error;
  } finally {
    for (const release of releasers.reverse()) await release();
  }
}

/** True when the database of an earlier start holds transactions that are not of one of these chains. */
async function areNew(chains: readonly SandboxChain[], databaseUrl: string): Promise<boolean> {
  for (const chain of chains) if (await chain.isNewTo(databaseUrl)) return true;
  return false;
}
