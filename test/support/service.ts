import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encryptKeystoreJsonSync, Wallet } from 'ethers';
import { programFile } from './program-file.js';

/** The key that tests call with. */
export const apiKey = 'test-key-0123456789-0123456789-0123456789';

/** Where a service keeps what outlives its process: its configuration, keystore and database. */
export interface ServiceHome {
  readonly dir: string;
  readonly env: Readonly<Record<string, string>>;
  /** Id of its only relayer. */
  readonly relayerId: string;
  /** EIP-55. */
  readonly address: string;
  /** Its private key, to look for where it must not be. */
  readonly privateKey: string;
  remove(): Promise<void>;
}

/** What differs from test to test. */
export interface ServiceHomeOptions {
  readonly rpcUrl: string;
  /** Further nodes of the same network. */
  readonly moreRpcUrls?: readonly string[];
  readonly policies?: object;
  readonly notifications?: readonly object[];
  readonly notificationId?: string;
  readonly requiredConfirmations?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** Makes a home with one EVM relayer, `r1`, on chain 31337, in a folder of its own. */
export async function createServiceHome(options: ServiceHomeOptions): Promise<ServiceHome> {
  const dir = await mkdtemp(join(tmpdir(), 'relayer-test-'));
  const wallet = Wallet.createRandom();
  // A cheap scrypt: these keys guard nothing.
  const keystore = encryptKeystoreJsonSync({ address: wallet.address, privateKey: wallet.privateKey }, 'pass', {
    scrypt: { N: 1024, r: 8, p: 1 },
  });
  await writeFile(join(dir, 'keystore.json'), keystore);
  const config = {
    relayers: [
      {
        id: 'r1',
        name: 'Relayer One',
        network: 'local',
        paused: false,
        network_type: 'evm',
        signer_id: 's1',
        policies: { min_balance: 0, ...options.policies },
        ...(options.notificationId === undefined ? {} : { notification_id: options.notificationId }),
      },
    ],
    signers: [{ id: 's1', type: 'local', config: { path: join(dir, 'keystore.json'), passphrase: { type: 'plain', value: 'pass' } } }],
    notifications: options.notifications ?? [],
    networks: [
      {
        type: 'evm',
        network: 'local',
        rpc_urls: [options.rpcUrl, ...(options.moreRpcUrls ?? [])],
        average_blocktime_ms: 400,
        is_testnet: true,
        chain_id: 31337,
        required_confirmations: options.requiredConfirmations ?? 1,
        features: ['eip1559'],
        symbol: 'ETH',
      },
    ],
  };
  await writeFile(join(dir, 'config.json'), JSON.stringify(config));
  return {
    dir,
    env: {
      CONFIG_DIR: dir,
      DATABASE_URL: `sqlite:${join(dir, 'relayer.db')}`,
      STORAGE_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      API_KEY: apiKey,
      APP_PORT: '0',
      WEBHOOK_ALLOW_PRIVATE: 'true',
      RATE_LIMIT_REQUESTS_PER_SECOND: '0',
      ...options.env,
    },
    relayerId: 'r1',
    address: wallet.address,
    privateKey: wallet.privateKey.slice(2),
    remove: () => rm(dir, { recursive: true, force: true }),
  };
}

/** A running service: the real program in a process of its own. */
export interface RunningService {
  /** `http://127.0.0.1:<port>` */
  readonly baseUrl: string;
  readonly port: number;
  readonly pid: number;
  /** Everything it has written to stdout and stderr. */
  output(): string;
  /** Ends it as an operator does; resolves to its exit code. */
  stop(): Promise<number | null>;
  /** Ends it as a power cut does. */
  kill(): Promise<void>;
}

/** A service that was told to start. */
export interface LaunchedService {
  /** Resolves when it says that it listens; rejects with what it said when it ends instead. */
  readonly listening: Promise<RunningService>;
  /** Ends it as a power cut does, before or after it listens. */
  kill(): Promise<void>;
  /** Everything it has written to stdout and stderr. */
  output(): string;
}

/** Starts the service in this home and resolves when it says that it listens. */
export async function startService(home: ServiceHome, enter: readonly string[] = []): Promise<RunningService> {
  return await launchService(home, enter).listening;
}

/** Starts the service in this home, for tests that do not wait until it listens. `enter`: a program that runs it, with its arguments. */
export function launchService(home: ServiceHome, enter: readonly string[] = []): LaunchedService {
  const [program = process.execPath, ...args] = [...enter, process.execPath, programFile, 'serve'];
  const child = spawn(program, args, {
    env: { PATH: process.env.PATH, ...home.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const stopWithUs = (): void => void child.kill('SIGKILL');
  process.once('exit', stopWithUs);
  child.once('exit', () => process.removeListener('exit', stopWithUs));
  let output = '';
  const port = new Promise<number>((resolve, reject) => {
    let isListening = false;
    const read = (chunk: Buffer) => {
      output += chunk.toString();
      if (isListening) return;
      const listening = /"port":(\d+),.*"msg":"listening"/.exec(output)?.[1];
      if (listening === undefined) return;
      isListening = true;
      resolve(Number(listening));
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('exit', (code) => reject(new Error(`the service ended with ${code} before it listened:\n${output}`)));
  });
  const kill = async (): Promise<void> => void (await end(child, 'SIGKILL'));
  const listening = port.then((port): RunningService => {
    const baseUrl = `http://127.0.0.1:${port}`;
    return { baseUrl, port, pid: child.pid ?? 0, output: () => output, stop: () => end(child, 'SIGTERM'), kill };
  });
  // One who kills it before it listens does not wait for that.
  listening.catch(() => {});
  return { listening, kill, output: () => output };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  child.kill(signal);
  return exited;
}

/** Every byte that the home's database files hold. */
export async function databaseBytes(home: ServiceHome): Promise<Buffer> {
  const files = ['relayer.db', 'relayer.db-wal'].map((name) => readFile(join(home.dir, name)).catch(() => Buffer.alloc(0)));
  return Buffer.concat(await Promise.all(files));
}
