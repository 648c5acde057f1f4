import type { SolanaChain } from '../../../src/sandbox/solana/chain.js';
import type { SolanaClient } from '../../support/network-service.js';
import { paymentBody } from '../../support/solana-body.js';
import { type KillTarget, killUnderTraffic } from '../kill-under-traffic.js';
import { openSolanaRig } from '../rig.js';
import { type Striker, startStriker } from '../strike-at-broadcast.js';
import type { FaultRun, FaultSuite } from '../suite.js';
import { auditSolana } from './audit-solana.js';

/**
 * SIGKILL at random moments, while the cluster loses packets, prices some out, and loses forks; blocks come so quickly that attempts die and are signed again
 * in every run.
 */
export const solanaKill: FaultSuite = async (run) => {
  const strikers: Striker[] = [];
  const rig = await openSolanaRig(run, {
    chain: { slotMs: 25 },
    async nodesBefore({ url, addNode }) {
      strikers.push(await startStriker(run, url, 'sendTransaction'));
      // The only node would have to prove each death twice, minutes apart.
      return [...strikers.map((striker) => striker.url), (await addNode()).url];
    },
  });
  const [sends, kills] = run.isShort ? [40, 6] : [160, 20];
  const atNextBroadcast: Striker['atNextBroadcast'] = (strike) => strikers[0]?.atNextBroadcast(strike);
  const weather = badWeather(run, rig.solana.chain);
  const seen = { versions: 0 };
  const target: KillTarget = {
    launch: rig.launch,
    paymentOf(index) {
      const value = BigInt(1_000_000 + index);
      return { value, body: paymentBody(rig.home.address, rig.receiver, value) };
    },
    async beforeLife({ isLast }) {
      if (isLast) weather.clear();
    },
    async audit(client) {
      // The relayer is of this network, so its records are.
      const books = await auditSolana(run, { chain: rig.solana.chain, payer: rig.home.address, client: client as SolanaClient });
      seen.versions = books.versions;
      return books.ledger;
    },
  };
  const figures = await killUnderTraffic(run, target, { sends, kills, limitMs: 120_000, atNextBroadcast });
  return { ...figures, versions: seen.versions, 'forks lost': weather.forks(), 'refused by leaders': rig.solana.chain.refused.size };
};

const weatherChangesMs = 400;
/** Longer than the lifetime of an attempt. */
const stormMs = 6_000;

/** A cluster that loses packets, prices transactions out and loses forks, now and then, until it is cleared. */
function badWeather(run: FaultRun, { pool, takeBack }: SolanaChain): { clear(): void; forks(): number } {
  const random = run.random.fork('weather');
  let forks = 0;
  let stormLeftMs = 0;
  const changes = setInterval(() => {
    stormLeftMs = stormLeftMs > 0 ? stormLeftMs - weatherChangesMs : random.chance(0.06) ? stormMs : 0;
    pool.losesPackets = stormLeftMs > 0 || random.chance(0.3);
    pool.lowestBidMicroLamports = random.chance(0.3) ? BigInt(random.between(1, 5_000)) : 0n;
    if (!random.chance(0.2)) return;
    takeBack(random.between(1, 4));
    forks += 1;
  }, weatherChangesMs);
  const clear = (): void => {
    clearInterval(changes);
    pool.losesPackets = false;
    pool.lowestBidMicroLamports = 0n;
  };
  run.atEnd(async () => clear());
  return { clear, forks: () => forks };
}
