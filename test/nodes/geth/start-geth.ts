import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../../src/sandbox/free-port.js';
import { waitFor } from '../../support/wait-for.js';

/** The geth program: `GETH`, or the one on the `PATH`; null if there is none. */
export function findGeth(): string | null {
  const program = process.env.GETH ?? 'geth';
  try {
    execFileSync(program, ['version'], { stdio: 'ignore' });
    return program;
  } catch {
    return null;
  }
}

/** How to start it. */
export interface GethOptions {
  /** Seconds between blocks; default 1. */
  readonly period?: number;
  readonly args?: readonly string[];
}

/** A geth in developer mode, with chain ID 1337. */
export interface Geth {
  readonly url: string;
  /** The URL of its WebSockets. */
  readonly socketUrl: string;
  /** Returns the result of a JSON-RPC call. Throws the node's error text. */
  rpc(method: string, params?: readonly unknown[]): Promise<unknown>;
  /** Sends wei from geth's own account, and resolves when the account has them. */
  fund(account: string, wei: bigint): Promise<void>;
  /** Resolves when this many blocks have been added. */
  passBlocks(count: number): Promise<void>;
  /** Stops and starts the process. The chain is kept, the pool only if geth keeps its journal. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts geth and resolves when it answers. */
export async function startGeth(program: string, { period = 1, args = [] }: GethOptions = {}): Promise<Geth> {
  const folder = await mkdtemp(join(tmpdir(), 'relayer-geth-'));
  const [httpPort, socketPort, authPort, peerPort] = await Promise.all([freePort(), freePort(), freePort(), freePort()]);
  const url = `http://127.0.0.1:${httpPort}`;
  const flags = [
    ...['--dev', '--dev.period', String(period), '--datadir', folder, '--nodiscover', '--maxpeers', '0', '--nat', 'none', '--ipcdisable'],
    ...['--http', '--http.addr', '127.0.0.1', '--http.port', String(httpPort), '--http.api', 'eth,net,web3,debug,txpool'],
    ...['--ws', '--ws.addr', '127.0.0.1', '--ws.port', String(socketPort), '--ws.api', 'eth,net,web3'],
    ...['--authrpc.port', String(authPort), '--port', String(peerPort), '--verbosity', '1'],
    ...args,
  ];
  let child: ChildProcess | null = null;

  async function start(): Promise<void> {
    const started = spawn(program, flags, { stdio: 'ignore' });
    child = started;
    await waitFor('geth to answer', () => {
      if (started.exitCode !== null) throw new Error(`geth ended with ${started.exitCode}`);
      return rpc('eth_chainId').catch(() => undefined);
    });
  }

  /** A kill would break its data folder. */
  async function end(): Promise<void> {
    if (child === null || child.exitCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
  }

  async function rpc(method: string, params: readonly unknown[] = []): Promise<unknown> {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const answer = (await response.json()) as { result?: unknown; error?: { message: string } };
    if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`);
    return answer.result;
  }

  const height = async () => Number(await rpc('eth_blockNumber'));

  await start();
  return {
    url,
    socketUrl: `ws://127.0.0.1:${socketPort}`,
    rpc,
    async fund(account, wei) {
      const [rich] = (await rpc('eth_accounts')) as string[];
      await rpc('eth_sendTransaction', [{ from: rich, to: account, value: `0x${wei.toString(16)}` }]);
      await waitFor('the account to be funded', async () =>
        BigInt(String(await rpc('eth_getBalance', [account, 'latest']))) >= wei ? true : undefined,
      );
    },
    async passBlocks(count) {
      const until = (await height()) + count;
      await waitFor(`${count} blocks`, async () => ((await height()) >= until ? true : undefined), 60_000);
    },
    async restart() {
      await end();
      await start();
    },
    async stop() {
      await end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
