import { type FaultyNode, startFaultyNode } from '../support/faulty-node.js';
import { evmKillTarget } from './evm-kill-target.js';
import { killUnderTraffic } from './kill-under-traffic.js';
import { openRig } from './rig.js';
import type { FaultSuite } from './suite.js';

const rpcTimeoutMs = 1_000;

/** Two URLs of one node that loses, delays, refuses and falsifies answers, each URL independently, and SIGKILL at random moments. */
export const faultyNode: FaultSuite = async (run) => {
  const nodes: FaultyNode[] = [];
  const rig = await openRig(run, {
    anvil: { blockTime: 0.5 },
    requiredConfirmations: 6,
    env: { RPC_TIMEOUT_MS: String(rpcTimeoutMs) },
    async nodesBefore({ url }) {
      for (const name of ['first node', 'second node']) {
        const node = await startFaultyNode({
          target: url,
          random: run.random.fork(name),
          faults: { lost: 0.2, late: 0.03, refused: 0.05, limited: 0.03, stale: 0.1, alreadyKnown: 0.15 },
          callerTimeoutMs: rpcTimeoutMs,
          greatestLag: 4,
        });
        run.atEnd(() => node.stop());
        nodes.push(node);
      }
      return nodes.map(({ url }) => url);
    },
  });
  const [sends, kills] = run.isShort ? [30, 3] : [200, 15];
  const figures = await killUnderTraffic(run, evmKillTarget(run, rig), { sends, kills, limitMs: run.isShort ? 120_000 : 300_000 });
  const total = (fault: keyof FaultyNode['counts']): number => nodes.reduce((sum, { counts }) => sum + counts[fault], 0);
  return {
    ...figures,
    lost: total('lost'),
    late: total('late'),
    refused: total('refused'),
    limited: total('limited'),
    stale: total('stale'),
    'already known': total('alreadyKnown'),
  };
};
