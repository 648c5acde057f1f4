import { paymentBody } from '../../support/solana-body.js';
import type { SolanaClient } from '../../support/solana-service.js';
import { type KillTarget, killUnderTraffic } from '../kill-under-traffic.js';
import { type Striker, startStriker } from '../strike-at-broadcast.js';
import type { FaultRun, FaultSuite } from '../suite.js';
import { auditSolana } from './audit-solana.js';
import { openSolanaRig, type SolanaRig } from './solana-rig.js';

/**
 * SIGKILL at random moments, while the cluster loses packets, prices some out, and loses forks; blockhashes live so short that versions die and are signed
 * anew in every run.
 */
export const solanaKill: FaultSuite = async (run) => {
  const strikers: Striker[] = [];
  const rig = await openSolanaRig(run, {
    chain: { slotMs: 100, blockhashAgeBlocks: 20, finalizedAfterBlocks: 8 },
    async nodesBefore({ url }) {
      strikers.push(await startStriker(run, url, 'sendTransaction'));
      return strikers.map(({ url }) => url);
    },
  });
  const [sends, kills] = run.isShort ? [40, 6] : [100, 20];
  const atNextBroadcast: Striker['atNextBroadcast'] = (strike) => strikers[0]?.atNextBroadcast(strike);
  const counts = { forks: 0 };
  const figures = await killUnderTraffic(run, targetOf(run, rig, counts), { sends, kills, limitMs: 120_000, atNextBroadcast });
  return { ...figures, 'forks lost': counts.forks, 'refused by leaders': rig.solana.chain.refused.size };
};

function targetOf(run: FaultRun, { solana: { chain }, home, receiver, launch }: SolanaRig, counts: { forks: number }): KillTarget {
  const { random } = run;
  return {
    launch,
    paymentOf(index) {
      const value = BigInt(1_000_000 + index);
      return { value, body: paymentBody(home.address, receiver, value) };
    },
    async beforeLife({ isLast }) {
      chain.pool.losesPackets = !isLast && random.chance(0.4);
      chain.pool.lowestBidMicroLamports = isLast ? 0n : BigInt(random.between(0, 5_000));
      if (!isLast && random.chance(0.5)) {
        chain.takeBack(random.between(1, 4));
        counts.forks += 1;
      }
    },
    // The relayer is of this network, so its records are.
    audit: (client) => auditSolana(run, { chain, payer: home.address, client: client as SolanaClient }),
  };
}
