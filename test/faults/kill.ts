import { evmKillTarget } from './evm-kill-target.js';
import { killUnderTraffic } from './kill-under-traffic.js';
import { openRig } from './rig.js';
import { type Striker, startStriker } from './strike-at-broadcast.js';
import type { FaultSuite } from './suite.js';

/** SIGKILL at random moments, with a healthy node. */
export const kill: FaultSuite = async (run) => {
  const strikers: Striker[] = [];
  const rig = await openRig(run, {
    anvil: { blockTime: 0.5 },
    requiredConfirmations: 2,
    async nodesBefore({ url }) {
      strikers.push(await startStriker(run, url, 'eth_sendRawTransaction'));
      return strikers.map(({ url }) => url);
    },
  });
  const [sends, kills] = run.isShort ? [60, 6] : [500, 60];
  const atNextBroadcast: Striker['atNextBroadcast'] = (strike) => strikers[0]?.atNextBroadcast(strike);
  return killUnderTraffic(run, evmKillTarget(run, rig), { sends, kills, limitMs: run.isShort ? 60_000 : 120_000, atNextBroadcast });
};
