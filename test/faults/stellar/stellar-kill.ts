import type { StellarNode } from '../../../src/sandbox/stellar/server.js';
import { paymentBody, type StellarClient } from '../../support/network-service.js';
import { type KillTarget, killUnderTraffic } from '../kill-under-traffic.js';
import { openStellarRig } from '../rig.js';
import { type Striker, startStriker } from '../strike-at-broadcast.js';
import type { FaultRun, FaultSuite } from '../suite.js';
import { auditStellar } from './audit-stellar.js';

/**
 * SIGKILL at random moments, while the node turns transactions away, loses them and its answers, and ledgers and queue require more than was bid, so that
 * waiting transactions are outbid, dropped and refused.
 */
export const stellarKill: FaultSuite = async (run) => {
  const strikers: Striker[] = [];
  const rig = await openStellarRig(run, {
    node: { closeEveryMs: 150 },
    async nodesBefore({ url }) {
      strikers.push(await startStriker(run, url, 'sendTransaction'));
      return strikers.map(({ url }) => url);
    },
  });
  const [sends, kills] = run.isShort ? [30, 5] : [100, 20];
  const atNextBroadcast: Striker['atNextBroadcast'] = (strike) => strikers[0]?.atNextBroadcast(strike);
  const weather = badWeather(run, rig.node);
  const seen = { versions: 0 };
  const target: KillTarget = {
    launch: rig.launch,
    paymentOf(index) {
      const value = BigInt(1_000_000 + index);
      return { value, body: paymentBody(rig.receiver, value, { valid_until: validUntil }) };
    },
    async beforeLife({ isLast }) {
      if (isLast) weather.clear();
    },
    async audit(client) {
      // The relayer is of this network, so its records are.
      const books = await auditStellar(run, { ledger: rig.node.ledger, account: rig.home.address, client: client as StellarClient });
      seen.versions = books.versions;
      return books.books;
    },
  };
  const figures = await killUnderTraffic(run, target, { sends, kills, limitMs: 120_000, atNextBroadcast });
  return { ...figures, versions: seen.versions, ...weather.figures };
};

/** Payments of operations expire after two minutes by default; these must not expire. */
const validUntil = new Date(Date.now() + 3_600_000).toISOString();
const weatherChangesMs = 400;

/** A node that sometimes refuses, loses and prices out transactions, until it is cleared. */
function badWeather(run: FaultRun, { ledger, setOutcome }: StellarNode): { clear(): void; readonly figures: Record<string, number> } {
  const random = run.random.fork('weather');
  const figures = { 'turned away': 0, 'lost at the node': 0, 'answers lost': 0, surges: 0 };
  const changes = setInterval(() => {
    const isSurge = random.chance(0.3);
    if (isSurge) figures.surges += 1;
    ledger.setSurge(isSurge ? BigInt(random.between(100, 3_000)) : 100n);
    ledger.setQueueFullBelow(random.chance(0.2) ? BigInt(random.between(100, 3_000)) : 0n);
    if (random.chance(0.2)) ledger.forget();
  }, weatherChangesMs);
  setOutcome((method) => {
    if (method !== 'sendTransaction' || !random.chance(0.3)) return null;
    const outcome = random.between(1, 3);
    figures[outcome === 1 ? 'turned away' : outcome === 2 ? 'lost at the node' : 'answers lost'] += 1;
    if (outcome === 3) return { answerIsLost: true };
    return { sending: outcome === 1 ? 'try again later' : 'dropped' };
  });
  const clear = (): void => {
    clearInterval(changes);
    setOutcome(null);
    ledger.setSurge(100n);
    ledger.setQueueFullBelow(0n);
  };
  run.atEnd(async () => clear());
  return { clear, figures };
}
