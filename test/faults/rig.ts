import { parseEther } from 'ethers';
import { type Anvil, type AnvilOptions, startAnvil } from '../support/anvil.js';
import { createRelayerClient, type RelayerClient } from '../support/relayer-client.js';
import {
  createServiceHome,
  type LaunchedService,
  launchService,
  type RunningService,
  type ServiceHome,
  type ServiceHomeOptions,
} from '../support/service.js';
import type { FaultRun } from './suite.js';

/** What is told apart from suite to suite. */
export interface RigOptions extends Omit<ServiceHomeOptions, 'rpcUrl'> {
  /** Absent: blocks only when the suite mines them. */
  readonly anvil?: AnvilOptions;
  /** What the service is to take for its nodes, in their order; absent: the real node. */
  readonly nodesBefore?: (anvil: Anvil) => Promise<readonly string[]>;
}

/** A running service and its client. */
export interface Life {
  readonly service: RunningService;
  readonly client: RelayerClient;
}

/** A real node, and a home whose account has 1,000 ether there. All ends with the suite. */
export interface FaultRig {
  readonly anvil: Anvil;
  readonly home: ServiceHome;
  /** Tells the service to start. */
  launch(): LaunchedService;
  /** Starts the service and waits until it listens. */
  start(): Promise<Life>;
}

/** Starts the node; the service is started by the suite. */
export async function openRig(run: FaultRun, { anvil: anvilOptions, nodesBefore, ...options }: RigOptions = {}): Promise<FaultRig> {
  const anvil = await startAnvil(anvilOptions ?? { noMining: true });
  run.atEnd(() => anvil.stop());
  const [rpcUrl = anvil.url, ...moreRpcUrls] = (await nodesBefore?.(anvil)) ?? [];
  const home = await createServiceHome({ rpcUrl, moreRpcUrls, ...options });
  run.atEnd(() => home.remove());
  await setBalance(anvil, home.address, parseEther('1000'));

  function launch(): LaunchedService {
    const launched = launchService(home);
    run.atEnd(() => launched.kill());
    run.keepLog(launched.output);
    return launched;
  }

  return {
    anvil,
    home,
    launch,
    async start() {
      const service = await launch().listening;
      return { service, client: createRelayerClient(service.baseUrl) };
    },
  };
}

/** Gives an account exactly this much. */
export async function setBalance(anvil: Pick<Anvil, 'rpc'>, account: string, wei: bigint): Promise<void> {
  await anvil.rpc('anvil_setBalance', [account, `0x${wei.toString(16)}`]);
}
