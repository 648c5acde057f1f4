import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** How to start the node. */
export interface AnvilOptions {
  /** Seconds between blocks. Default: one block per transaction. */
  readonly blockTime?: number;
  /** True: only `mine` makes blocks. */
  readonly noMining?: boolean;
  /** Default 31337. */
  readonly chainId?: number;
  /** For a node that must restart at its old address. Default: a free port. */
  readonly port?: number;
  readonly args?: readonly string[];
}

/** A real EVM node. */
export interface Anvil {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Returns the result of a JSON-RPC call. Throws the node's error text. */
  rpc(method: string, params?: readonly unknown[]): Promise<unknown>;
  /** Mines this many blocks; default 1. */
  mine(blocks?: number): Promise<void>;
  /** Ends the process. Its chain is lost. */
  stop(): Promise<void>;
}

/** Keys, as hex with `0x`, of accounts that hold 10,000 ether on every anvil. */
export const anvilKeys: readonly [string, string, string] = [
  '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
  '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d',
  '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a',
];

/** Finds the binary itself: if npm's wrapper is killed, the node keeps running. */
function anvilBinary(): string {
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  const name = `@foundry-rs/anvil-${process.platform}-${arch}`;
  const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`);
  return join(dirname(manifest), 'bin', process.platform === 'win32' ? 'anvil.exe' : 'anvil');
}

/** Starts anvil and resolves when it answers. */
export async function startAnvil({ blockTime, noMining, chainId, port, args = [] }: AnvilOptions = {}): Promise<Anvil> {
  const flags = [
    ...['--port', String(port ?? 0), '--host', '127.0.0.1', '--chain-id', String(chainId ?? 31337)],
    ...(blockTime === undefined ? [] : ['--block-time', String(blockTime)]),
    ...(noMining === true ? ['--no-mining'] : []),
    ...args,
  ];
  const child = spawn(anvilBinary(), flags, { stdio: ['ignore', 'pipe', 'pipe'] });
  const stopWithUs = (): void => void child.kill('SIGKILL');
  process.once('exit', stopWithUs);
  const listening = await listeningPort(child);
  const url = `http://127.0.0.1:${listening}`;

  async function rpc(method: string, params: readonly unknown[] = []): Promise<unknown> {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    const answer = (await response.json()) as { result?: unknown; error?: { message: string } };
    if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`);
    return answer.result;
  }

  await rpc('eth_chainId');
  return {
    url,
    port: listening,
    pid: child.pid ?? 0,
    rpc,
    async mine(blocks = 1) {
      await rpc('anvil_mine', [`0x${blocks.toString(16)}`]);
    },
    async stop() {
      process.removeListener('exit', stopWithUs);
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/** Returns the port that anvil listens on. Rejects with its output if it ends first. */
function listeningPort(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let said = '';
    let isListening = false;
    const hear = (chunk: Buffer): void => {
      if (isListening) return;
      said += chunk.toString();
      const port = /Listening on [^\s]*:(\d+)/.exec(said)?.[1];
      if (port === undefined) return;
      isListening = true;
      resolve(Number(port));
    };
    // Read to the end: a full pipe would stop the node.
    child.stdout?.on('data', hear);
    child.stderr?.on('data', hear);
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`anvil ended with ${code}: ${said}`)));
  });
}
