import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encryptKeystoreJsonSync, Wallet } from 'ethers';
import { addressFromPublicKey as solanaAddressFrom } from '../../src/chains/solana/address.js';
import { addressFromPublicKey as stellarAddressFrom } from '../../src/chains/stellar/address.js';
import { keyFromSeed, publicKeyOf } from '../../src/signers/local/ed25519-key.js';
import { cheapEd25519Keystore } from './cheap-keystore.js';
import { programFile } from './program-file.js';

/** The key that tests call with. */
export const apiKey = 'test-key-0123456789-0123456789-0123456789';

/** The files that outlive a service's process: its configuration, keystore and database. */
export interface ServiceHome {
  readonly dir: string;
  readonly env: Readonly<Record<string, string>>;
  /** Id of its only relayer. */
  readonly relayerId: string;
  /** As its network writes it. */
  readonly address: string;
  /** In hex, to search for it in places that must not contain it. */
  readonly privateKey: string;
  remove(): Promise<void>;
}

/** The options of a test on every network. */
interface CommonHomeOptions {
  readonly policies?: object;
  readonly notifications?: readonly object[];
  readonly notificationId?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** The options of a test on an EVM network. */
export interface ServiceHomeOptions extends CommonHomeOptions {
  readonly rpcUrl: string;
  /** Further nodes of the same network. */
  readonly moreRpcUrls?: readonly string[];
  readonly requiredConfirmations?: number;
}

/** Makes a home with one EVM relayer, `r1`, on chain 31337, in a folder of its own. */
export function createServiceHome({
  rpcUrl,
  moreRpcUrls = [],
  requiredConfirmations = 1,
  ...options
}: ServiceHomeOptions): Promise<ServiceHome> {
  const { address, privateKey } = Wallet.createRandom();
  return makeHome(options, {
    networkType: 'evm',
    networkFields: {
      rpc_urls: [rpcUrl, ...moreRpcUrls],
      chain_id: 31337,
      required_confirmations: requiredConfirmations,
      features: ['eip1559'],
      symbol: 'ETH',
    },
    policies: { min_balance: 0 },
    // A cheap scrypt: these keys protect nothing of value.
    keystore: encryptKeystoreJsonSync({ address, privateKey }, 'pass', { scrypt: { N: 1024, r: 8, p: 1 } }),
    address,
    privateKey: privateKey.slice(2),
  });
}

/** The options of a test on a network of ed25519 keys. */
export interface Ed25519HomeOptions extends CommonHomeOptions {
  readonly network: 'solana' | 'stellar';
  readonly rpcUrls: readonly string[];
  /** Fields of the network's entry that only this network has: `{ passphrase }` on Stellar. */
  readonly networkFields?: object;
}

/** Makes a home with one relayer of that network, `r1`, in a folder of its own. Its private key is the seed in hex. */
export function createEd25519Home({ network, rpcUrls, networkFields, ...options }: Ed25519HomeOptions): Promise<ServiceHome> {
  const seed = randomBytes(32);
  const publicKey = publicKeyOf(keyFromSeed(seed));
  return makeHome(options, {
    networkType: network,
    networkFields: { rpc_urls: rpcUrls, ...networkFields },
    policies: { fee_payment_strategy: 'relayer', min_balance: 0 },
    keystore: cheapEd25519Keystore(seed, 'pass'),
    address: network === 'solana' ? solanaAddressFrom(publicKey) : stellarAddressFrom(publicKey),
    privateKey: seed.toString('hex'),
  });
}

interface NetworkParts extends Pick<ServiceHome, 'address' | 'privateKey'> {
  readonly networkType: 'evm' | 'solana' | 'stellar';
  readonly networkFields: object;
  readonly policies: object;
  readonly keystore: string;
}

async function makeHome(options: CommonHomeOptions, network: NetworkParts): Promise<ServiceHome> {
  const { policies, notifications = [], notificationId, env } = options;
  const { networkType, networkFields, keystore, address, privateKey } = network;
  const dir = await mkdtemp(join(tmpdir(), 'relayer-test-'));
  const path = join(dir, 'keystore.json');
  await writeFile(path, keystore, { mode: 0o600 });
  const relayer = {
    id: 'r1',
    name: 'Relayer One',
    network: 'local',
    paused: false,
    network_type: networkType,
    signer_id: 's1',
    policies: { ...network.policies, ...policies },
    ...(notificationId === undefined ? {} : { notification_id: notificationId }),
  };
  const config = {
    relayers: [relayer],
    signers: [{ id: 's1', type: 'local', config: { path, passphrase: { type: 'plain', value: 'pass' } } }],
    notifications,
    networks: [{ type: networkType, network: 'local', average_blocktime_ms: 400, is_testnet: true, ...networkFields }],
  };
  await writeFile(join(dir, 'config.json'), JSON.stringify(config));
  return {
    dir,
    env: {
      CONFIG_DIR: dir,
      DATABASE_URL: `sqlite:${join(dir, 'relayer.db')}`,
      STORAGE_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      API_KEY: apiKey,
      HELD_TRANSACTIONS_FILE: join(dir, 'held-transactions.jsonl'),
      APP_PORT: '0',
      WEBHOOK_ALLOW_PRIVATE: 'true',
      RATE_LIMIT_REQUESTS_PER_SECOND: '0',
      ...env,
    },
    relayerId: relayer.id,
    address,
    privateKey,
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

/** A service that is starting. */
export interface LaunchedService {
  /** Resolves when it logs that it listens; rejects with its output if it ends instead. */
  readonly listening: Promise<RunningService>;
  readonly pid: number;
  /** Its exit code, once it has ended; null: a signal ended it. */
  readonly exited: Promise<number | null>;
  /** Ends it as a power cut does, before or after it listens. */
  kill(): Promise<void>;
  /** Everything it has written to stdout and stderr. */
  output(): string;
}

/** Starts the service in this home and resolves when it logs that it listens. */
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
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
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
  // A test that kills it before it listens does not wait for that.
  listening.catch(() => {});
  return { listening, pid: child.pid ?? 0, exited, kill, output: () => output };
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
