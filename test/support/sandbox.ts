import { type ChildProcess, spawn } from 'node:child_process';
import { programFile } from './program-file.js';
import { temporaryFolder } from './temporary-folder.js';
import { waitFor } from './wait-for.js';

/** It starts chains and makes keys, which takes long on a busy machine. */
const patienceMs = 120_000;

/** A running sandbox: `npm start` in a folder and on ports of its own. */
export interface Sandbox {
  /** `http://127.0.0.1:<port>`. */
  readonly url: string;
  readonly token: string;
  /** The RPC endpoints of its local chains. */
  readonly rpcUrls: { readonly evm: string; readonly stellar: string; readonly solana: string };
  /** Mines a block on its local EVM chain, which mines none by itself. */
  mine(): Promise<void>;
  /** Everything it has written. */
  output(): string;
  /** As Ctrl-C does; resolves to its exit code. */
  stop(): Promise<number | null>;
}

/** Starts it, by default in a folder that is removed with the test, and resolves when it is ready. Its chain mines only on command. */
export async function startSandbox(env: Readonly<Record<string, string>> = {}, folder?: string): Promise<Sandbox> {
  const child = spawn(process.execPath, [programFile, 'dev'], {
    cwd: folder ?? (await temporaryFolder()),
    env: { PATH: process.env.PATH, SANDBOX_BLOCK_TIME: '0', SANDBOX_RPC_PORT: '0', APP_PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const stopWithUs = (): void => void child.kill('SIGKILL');
  process.once('exit', stopWithUs);
  child.once('exit', () => process.removeListener('exit', stopWithUs));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await waitFor(
    'the sandbox to be ready',
    () => {
      if (child.exitCode !== null) throw new Error(`the sandbox ended with ${child.exitCode}:\n${output}`);
      return output.includes('Ctrl-C stops everything.') ? true : undefined;
    },
    patienceMs,
  );
  const [, url = '', token = ''] = /URL=(\S+)\/api\/v1 TOKEN=(\S+)/.exec(output) ?? [];
  const urlAfter = (words: RegExp): string => new RegExp(`${words.source} at (http:\\S+)`).exec(output)?.[1] ?? '';
  const rpcUrls = { evm: urlAfter(/chain \d+/), stellar: urlAfter(/local Stellar ledger/), solana: urlAfter(/local Solana cluster/) };
  return {
    url,
    token,
    rpcUrls,
    async mine() {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'anvil_mine', params: [] });
      await fetch(rpcUrls.evm, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    },
    output: () => output,
    stop: () => interrupt(child),
  };
}

/** Ends a process as Ctrl-C does; resolves to its exit code. */
export async function interrupt(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const ended = new Promise<number | null>((exited) => child.once('exit', exited));
  child.kill('SIGINT');
  return ended;
}
