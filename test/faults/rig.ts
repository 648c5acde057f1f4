import { Keypair } from '@stellar/stellar-sdk';
import { parseEther } from 'ethers';
import { systemProgram } from '../../src/sandbox/solana/instructions.js';
import { type LocalSolana, type SolanaOptions, startSolana } from '../../src/sandbox/solana/start-solana.js';
import { type StellarNode, type StellarOptions, startStellar } from '../../src/sandbox/stellar/server.js';
import { type Anvil, type AnvilOptions, startAnvil } from '../support/anvil.js';
import { createRelayerClient, type RelayerClient } from '../support/relayer-client.js';
import {
  createEd25519Home,
  createServiceHome,
  type LaunchedService,
  launchService,
  type RunningService,
  type ServiceHome,
  type ServiceHomeOptions,
} from '../support/service.js';
import type { FaultRun } from './suite.js';

/** The options of a suite on EVM. */
export interface RigOptions extends Omit<ServiceHomeOptions, 'rpcUrl'> {
  /** Absent: blocks only when the suite mines them. */
  readonly anvil?: AnvilOptions;
  /** The RPC URLs of the service, in order; absent: the real node. */
  readonly nodesBefore?: (anvil: Anvil) => Promise<readonly string[]>;
}

/** A running service and its client. */
export interface Life {
  readonly service: RunningService;
  readonly client: RelayerClient;
  /** See `LaunchedService`. */
  readonly exited: Promise<number | null>;
}

/** Settings beside those of the home. */
type Settings = Readonly<Record<string, string>>;

/** A real node, and a home whose account has 1,000 ether there. All ends with the suite. */
export interface FaultRig {
  readonly anvil: Anvil;
  readonly home: ServiceHome;
  /** Starts the service without waiting for it. */
  launch(settings?: Settings): LaunchedService;
  /** Starts the service and waits until it listens. */
  start(settings?: Settings): Promise<Life>;
}

/** Starts the node; the service is started by the suite. */
export async function openRig(run: FaultRun, { anvil: anvilOptions, nodesBefore, ...options }: RigOptions = {}): Promise<FaultRig> {
  const anvil = await startAnvil(anvilOptions ?? { noMining: true });
  run.atEnd(() => anvil.stop());
  const [rpcUrl = anvil.url, ...moreRpcUrls] = (await nodesBefore?.(anvil)) ?? [];
  const home = await createServiceHome({ rpcUrl, moreRpcUrls, ...options });
  run.atEnd(() => home.remove());
  await setBalance(anvil, home.address, parseEther('1000'));

  const launch = launcherOf(run, home);
  return {
    anvil,
    home,
    launch,
    async start(settings) {
      const { listening, exited } = launch(settings);
      const service = await listening;
      return { service, client: createRelayerClient(service.baseUrl), exited };
    },
  };
}

/** Starts the service of this home as often as the suite asks. Each one ends with the suite, and its log is kept. */
function launcherOf(run: FaultRun, home: ServiceHome): (settings?: Settings) => LaunchedService {
  return (settings = {}) => {
    const launched = launchService({ ...home, env: { ...home.env, ...settings } });
    run.atEnd(() => launched.kill());
    run.keepLog(launched.output);
    return launched;
  };
}

/** The options of a suite on Solana. */
export interface SolanaRigOptions {
  readonly chain: SolanaOptions;
  /** The RPC URLs of the service, in their order; default: the first node. */
  readonly nodesBefore?: (solana: LocalSolana) => Promise<readonly string[]>;
  readonly env?: Readonly<Record<string, string>>;
}

/** A local Solana, and a home whose account has 1,000 SOL there. All ends with the suite. */
export interface SolanaRig {
  readonly solana: LocalSolana;
  readonly home: ServiceHome;
  /** The receiver. Its account exists, so that no payment is too small to create it. */
  readonly receiver: string;
  launch(): LaunchedService;
}

const solanaReceiver = '9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu';

/** Starts the cluster; the suite starts the service. */
export async function openSolanaRig(run: FaultRun, { chain, nodesBefore, env }: SolanaRigOptions): Promise<SolanaRig> {
  const solana = await startSolana(chain);
  run.atEnd(() => solana.stop());
  const rpcUrls = (await nodesBefore?.(solana)) ?? [solana.url];
  const home = await createEd25519Home({ network: 'solana', rpcUrls, ...(env === undefined ? {} : { env }) });
  run.atEnd(() => home.remove());
  // Not by transactions, which a fork could undo.
  const funds = { lamports: 1_000_000_000_000n, owner: systemProgram, data: new Uint8Array(), executable: false };
  for (const address of [home.address, solanaReceiver]) solana.chain.putAccount(address, funds);
  return { solana, home, receiver: solanaReceiver, launch: launcherOf(run, home) };
}

/** The options of a suite on Stellar. */
export interface StellarRigOptions {
  readonly node: StellarOptions;
  /** The RPC URLs of the service, in their order; default: the node. */
  readonly nodesBefore?: (node: StellarNode) => Promise<readonly string[]>;
}

/** A local ledger, and a home whose account has 10,000 XLM there. All ends with the suite. */
export interface StellarRig {
  readonly node: StellarNode;
  readonly home: ServiceHome;
  /** The account that is paid, G... */
  readonly receiver: string;
  launch(): LaunchedService;
}

/** Starts the node; the suite starts the service. */
export async function openStellarRig(run: FaultRun, { node: options, nodesBefore }: StellarRigOptions): Promise<StellarRig> {
  const node = await startStellar(options);
  run.atEnd(() => node.stop());
  const rpcUrls = (await nodesBefore?.(node)) ?? [node.url];
  const { passphrase } = node.ledger;
  const home = await createEd25519Home({ network: 'stellar', rpcUrls, networkFields: { passphrase } });
  run.atEnd(() => home.remove());
  const receiver = Keypair.random().publicKey();
  for (const address of [home.address, receiver]) node.ledger.fund(address, 100_000_000_000n);
  return { node, home, receiver, launch: launcherOf(run, home) };
}

/** Gives an account exactly this much. */
export async function setBalance(anvil: Pick<Anvil, 'rpc'>, account: string, wei: bigint): Promise<void> {
  await anvil.rpc('anvil_setBalance', [account, `0x${wei.toString(16)}`]);
}
