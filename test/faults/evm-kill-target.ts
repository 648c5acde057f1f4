import type { RelayerClient } from '../support/relayer-client.js';
import { audit } from './audit.js';
import type { KillTarget } from './kill-under-traffic.js';
import { paymentOf } from './payment.js';
import type { FaultRig } from './rig.js';
import type { FaultRun } from './suite.js';

/** The rig's account on its node, as a target of kills. */
export function evmKillTarget(run: FaultRun, { anvil, home, launch }: FaultRig): KillTarget {
  return {
    launch,
    paymentOf(index) {
      const body = paymentOf(index);
      return { value: BigInt(body.value), body };
    },
    async beforeLife() {
      await anvil.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${run.random.between(1, 3_000_000_000).toString(16)}`]);
    },
    // The relayer is of this network, so its records are.
    audit: (client) => audit(run, { anvil, account: home.address, client: client as RelayerClient }),
  };
}
