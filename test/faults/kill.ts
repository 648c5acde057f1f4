import { startRpcProxy } from '../support/rpc-proxy.js';
import { evmKillTarget } from './evm-kill-target.js';
import { killUnderTraffic } from './kill-under-traffic.js';
import { openRig } from './rig.js';
import type { FaultSuite } from './suite.js';

/** SIGKILL at random moments, the node being well. */
export const kill: FaultSuite = async (run) => {
  const random = run.random.fork('broadcast');
  let strike: (() => Promise<void>) | undefined;
  const rig = await openRig(run, {
    anvil: { blockTime: 0.5 },
    requiredConfirmations: 2,
    async nodesBefore({ url }) {
      const proxy = await startRpcProxy({
        target: url,
        async answer(call, ask) {
          if (call.method !== 'eth_sendRawTransaction' || strike === undefined) return ask(call);
          const now = strike;
          strike = undefined;
          // Either the node has it and the service dies before it hears so, or the node never gets it.
          if (random.chance(0.7)) await ask(call);
          await now();
          return null;
        },
      });
      run.atEnd(() => proxy.stop());
      return [proxy.url];
    },
  });
  const [sends, kills] = run.isShort ? [60, 6] : [500, 60];
  const atNextBroadcast = (wanted: () => Promise<void>): void => {
    strike = wanted;
  };
  return killUnderTraffic(run, evmKillTarget(run, rig), { sends, kills, limitMs: run.isShort ? 60_000 : 120_000, atNextBroadcast });
};
