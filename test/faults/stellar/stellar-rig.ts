import { Keypair } from '@stellar/stellar-sdk';
import { type StellarNode, type StellarOptions, startStellar } from '../../local-chains/stellar/server.js';
import { createEd25519Home, type LaunchedService, launchService, type ServiceHome } from '../../support/service.js';
import type { FaultRun } from '../suite.js';

/** What is told apart from suite to suite. */
export interface StellarRigOptions {
  readonly node: StellarOptions;
  /** What the service is to take for its nodes, in their order; absent: the node. */
  readonly nodesBefore?: (node: StellarNode) => Promise<readonly string[]>;
}

/** A local ledger, and a home whose account has 10,000 XLM there. All ends with the suite. */
export interface StellarRig {
  readonly node: StellarNode;
  readonly home: ServiceHome;
  /** Who is paid, G... */
  readonly receiver: string;
  /** Tells the service to start. */
  launch(): LaunchedService;
}

/** Starts the node; the service is started by the suite. */
export async function openStellarRig(run: FaultRun, { node: options, nodesBefore }: StellarRigOptions): Promise<StellarRig> {
  const node = await startStellar(options);
  run.atEnd(() => node.stop());
  const rpcUrls = (await nodesBefore?.(node)) ?? [node.url];
  const { passphrase } = node.ledger;
  const home = await createEd25519Home({ network: 'stellar', rpcUrls, networkFields: { passphrase } });
  run.atEnd(() => home.remove());
  const receiver = Keypair.random().publicKey();
  for (const address of [home.address, receiver]) node.ledger.fund(address, 100_000_000_000n);
  return {
    node,
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
