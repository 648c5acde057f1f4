import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AccountState } from '../../../src/sandbox/solana/runtime.js';
import { waitFor } from '../../support/wait-for.js';

/** The validator program: `SOLANA_TEST_VALIDATOR`, or the one on the `PATH`; null if there is none. */
export function findValidator(): string | null {
  const program = process.env.SOLANA_TEST_VALIDATOR ?? 'solana-test-validator';
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' });
    return program;
  } catch {
    return null;
  }
}

/** How to start it. */
export interface ValidatorOptions {
  /** Accounts that exist from the genesis block on. */
  readonly accounts: Readonly<Record<string, AccountState>>;
  readonly args?: readonly string[];
}

/** A validator that is a cluster of its own. */
export interface Validator {
  readonly url: string;
  /** Returns the result of a JSON-RPC call. Throws the node's error text. */
  rpc<T>(method: string, params?: readonly unknown[]): Promise<T>;
  /** Ends it as a power cut does, and starts it again: with its ledger, or with a new genesis block. */
  crash(then: 'keep' | 'reset'): Promise<void>;
  stop(): Promise<void>;
}

/** How long it may take to answer on a machine with other work. */
const startsWithinMs = 300_000;
const portsPerValidator = 50;

/** Starts a validator and resolves when it has a final block. */
export async function startValidator(program: string, { accounts, args = [] }: ValidatorOptions): Promise<Validator> {
  const folder = await mkdtemp(join(tmpdir(), 'relayer-solana-'));
  const accountArgs: string[] = [];
  for (const [address, account] of Object.entries(accounts)) {
    const file = join(folder, `${address}.json`);
    await writeFile(file, accountJson(address, account));
    accountArgs.push('--account', address, file);
  }
  // Below the ports that the system gives to connections.
  const base = 10_000 + portsPerValidator * Math.floor(Math.random() * 400);
  const url = `http://127.0.0.1:${base}`;
  const flags = [
    ...['--ledger', join(folder, 'ledger'), '--bind-address', '127.0.0.1', '--quiet'],
    // The next port is that of the web socket.
    ...['--rpc-port', String(base), '--faucet-port', String(base + 2), '--gossip-port', String(base + 3)],
    ...['--dynamic-port-range', `${base + 4}-${base + portsPerValidator}`],
    ...accountArgs,
    ...args,
  ];
  let child: ChildProcess | null = null;

  async function start(more: readonly string[] = []): Promise<void> {
    const started = spawn(program, [...flags, ...more], { stdio: 'ignore' });
    const endWithUs = (): void => void started.kill('SIGKILL');
    process.once('exit', endWithUs);
    started.once('exit', () => process.removeListener('exit', endWithUs));
    child = started;
    await waitFor(
      'the validator to have a final block',
      async () => {
        if (started.exitCode !== null) throw new Error(`the validator ended with ${started.exitCode}`);
        return (await rpc<number>('getSlot').catch(() => 0)) > 0 ? true : undefined;
      },
      startsWithinMs,
    );
  }

  async function end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  async function rpc<T>(method: string, params: readonly unknown[] = []): Promise<T> {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const answer = (await response.json()) as { result: T; error?: { code: number; message: string } };
    if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.code} ${answer.error.message}`);
    return answer.result;
  }

  await start();
  return {
    url,
    rpc,
    async crash(then) {
      await end('SIGKILL');
      await start(then === 'reset' ? ['--reset'] : []);
    },
    async stop() {
      await end('SIGKILL');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The form in which Solana's tools dump an account. */
function accountJson(pubkey: string, { lamports, owner, data, executable }: AccountState): string {
  const fields = { data: [Buffer.from(data).toString('base64'), 'base64'], owner, executable, space: data.length };
  const account = JSON.stringify(fields).slice(1, -1);
  // Exact integers, which JSON.stringify does not write.
  return `{"pubkey":"${pubkey}","account":{"lamports":${lamports},"rentEpoch":${2n ** 64n - 1n},${account}}}`;
}
