import { killUnderTraffic } from './kill-under-traffic.js';
import { openRig } from './rig.js';
import type { FaultSuite } from './suite.js';

/** SIGKILL at random moments, the node being well. */
export const kill: FaultSuite = async (run) => {
  const rig = await openRig(run, { anvil: { blockTime: 0.5 }, requiredConfirmations: 2 });
  const [sends, kills] = run.isShort ? [60, 6] : [500, 60];
  return killUnderTraffic(run, rig, { sends, kills, limitMs: run.isShort ? 60_000 : 120_000 });
};
