import { type ChildProcess, spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import { rpcCall } from './rpc-call.js';

/** The chain id of the sandbox. */
export const sandboxChainId = 31337;

/** A local chain. */
export interface LocalChain {
  readonly rpcUrl: string;
  /** False where a node was already there: it is used, and left running. */
  readonly isOurs: boolean;
  stop(): Promise<void>;
}

/** Thrown with one sentence for the user when there can be no local chain. */
export class LocalChainError extends Error {}

/**
 * Starts anvil on the port, or uses the node that is there when it answers the sandbox's chain id.
 *
 * @param blockTimeSeconds 0: a block is mined only when the node is told to
 */
export async function startLocalChain(port: number, blockTimeSeconds: number): Promise<LocalChain> {
  const rpcUrl = `http://127.0.0.1:${port}`;
  const present = await chainIdAt(rpcUrl);
  if (present === sandboxChainId) return { rpcUrl, isOurs: false, stop: async () => {} };
  if (present !== null) {
    throw new LocalChainError(`port ${port} is taken by a node of chain ${present}; set SANDBOX_RPC_PORT to another port`);
  }
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
  return { rpcUrl, isOurs: true, stop: () => stop(child, ended) };
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
