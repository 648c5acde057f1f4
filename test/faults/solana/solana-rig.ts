import { systemProgram } from '../../local-chains/solana/instructions.js';
import { type LocalSolana, type SolanaOptions, startSolana } from '../../local-chains/solana/start-solana.js';
import { createEd25519Home, type LaunchedService, launchService, type ServiceHome } from '../../support/service.js';
import type { FaultRun } from '../suite.js';

/** What is told apart from suite to suite. */
export interface SolanaRigOptions {
  readonly chain: SolanaOptions;
  /** What the service is to take for its nodes, in their order; absent: the first node. */
  readonly nodesBefore?: (solana: LocalSolana) => Promise<readonly string[]>;
  readonly env?: Readonly<Record<string, string>>;
}

/** A local Solana, and a home whose account has 1,000 SOL there. All ends with the suite. */
export interface SolanaRig {
  readonly solana: LocalSolana;
  readonly home: ServiceHome;
  /** Who is paid; has an account already, so that no payment is too small for one. */
  readonly receiver: string;
  /** Tells the service to start. */
  launch(): LaunchedService;
}

const receiver = '9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu';

/** Starts the cluster; the service is started by the suite. */
export async function openSolanaRig(run: FaultRun, { chain, nodesBefore, env }: SolanaRigOptions): Promise<SolanaRig> {
  const solana = await startSolana(chain);
  run.atEnd(() => solana.stop());
  const rpcUrls = (await nodesBefore?.(solana)) ?? [solana.url];
  const home = await createEd25519Home({ network: 'solana', rpcUrls, ...(env === undefined ? {} : { env }) });
  run.atEnd(() => home.remove());
  // Not by transactions, which a fork could take back.
  const funds = { lamports: 1_000_000_000_000n, owner: systemProgram, data: new Uint8Array(), executable: false };
  for (const address of [home.address, receiver]) solana.chain.putAccount(address, funds);
  return {
    solana,
    home,
    receiver,
    launch() {
      const launched = launchService(home);
      run.atEnd(() => launched.kill());
      run.keepLog(launched.output);
      return launched;
    },
  };
}
