import { setTimeout as delay } from 'node:timers/promises';
import { readLedger } from '../support/chain-ledger.js';
import type { TransactionRecord } from '../support/relayer-client.js';
import { startStatusReceiver, type ToldStatus } from '../support/status-receiver.js';
import { waitFor } from '../support/wait-for.js';
import { audit, auditPayments } from './audit.js';
import { startMiner } from './miner.js';
import { paymentOf, sendOne } from './payment.js';
import { openRig } from './rig.js';
import type { FaultRun, FaultSuite } from './suite.js';
import { untilEverythingIsFinal } from './until.js';

const requiredConfirmations = 6;
/** One less than the confirmations: a reorg never undoes a confirmed transaction. */
const greatestDepth = 5;
/** Of one round. */
const greatestSends = 8;

/** Reorgs remove blocks during traffic, never as deep as the confirmations. Half of the time the suite waits until the records have followed. */
export const reorgs: FaultSuite = async (run) => {
  const { random } = run;
  const receiver = await startStatusReceiver();
  run.atEnd(() => receiver.stop());
  const rig = await openRig(run, {
    requiredConfirmations,
    notifications: [{ id: 'n1', type: 'webhook', url: receiver.url }],
    notificationId: 'n1',
  });
  const { anvil, home } = rig;
  const { client } = await rig.start();
  // The first round also needs a block to remove.
  await anvil.mine(2 * greatestDepth);
  const miner = startMiner(run, anvil, random.fork('miner'), 400);
  const count = run.isShort ? 8 : 50;
  const accepted = new Map<bigint, string>();
  let takenBack = 0;
  let followed = 0;

  async function traffic(): Promise<void> {
    await delay(random.between(0, 500));
    const payment = paymentOf(accepted.size);
    // Taken at once, so that no other send has this value.
    accepted.set(BigInt(payment.value), '');
    accepted.set(BigInt(payment.value), (await sendOne(client, payment)).id);
  }

  for (let round = 0; round < count; round++) {
    const depth = random.between(1, greatestDepth);
    const sends = Array.from({ length: random.between(2, greatestSends) }, traffic);
    await waitFor(
      'a block with transactions of the suite, for a reorg to remove',
      async () => {
        const { transactions } = await readLedger(anvil, home.address, depth);
        return transactions.length > 0 ? true : undefined;
      },
      60_000,
    );
    const isWatched = random.chance(0.5);
    await miner.hold(async () => {
      const { transactions: affected } = await readLedger(anvil, home.address, depth);
      // Found before the blocks are removed: the record that shows each hash as mined.
      const shown = isWatched ? await untilShown(affected.map(({ hash }) => hash)) : [];
      await anvil.rpc('anvil_reorg', [depth, []]);
      takenBack += affected.length;
      for (const { id } of shown) {
        const isBack = async () => ((await client.get(id)).status === 'submitted' ? true : undefined);
        await waitFor(`${id} to be submitted again`, isBack).then(
          () => (followed += 1),
          async () => run.violation('the record of a transaction did not change after a reorg removed its block', await client.get(id)),
        );
      }
      const after = await readLedger(anvil, home.address);
      for (const record of await client.list()) {
        if (record.status === 'confirmed' && !after.byHash.has(record.hash ?? ''))
          run.violation('after a reorg, a confirmed record names a transaction that is in no block', { depth, record });
      }
    });
    await Promise.all(sends);
  }

  await untilEverythingIsFinal(run, client, run.isShort ? 60_000 : 120_000);
  const ledger = await audit(run, { anvil, account: home.address, client });
  await auditPayments(run, client, ledger, { accepted, unanswered: new Set() });
  await waitFor('every webhook to arrive', () => {
    const isTold = (id: string): boolean => receiver.told.get(id)?.at(-1)?.status === 'confirmed';
    return [...accepted.values()].every(isTold) ? true : undefined;
  }).catch(() => run.violation('the last webhook of a transaction does not report confirmed', [...receiver.told].slice(0, 3)));
  const ways = [...receiver.told];
  for (const [id, told] of ways) checkWay(run, id, told);
  const backAndForth = ways.filter(([, told]) => stepsOf(told).includes('mined → submitted')).length;
  if (backAndForth === 0) run.violation('no webhook reported a block that a reorg removed');
  return {
    reorgs: count,
    sends: accepted.size,
    'taken back': takenBack,
    'seen to follow': followed,
    'told mined → submitted → mined': backAndForth,
    confirmed: ledger.transactions.length,
    blocks: ledger.height,
  };

  /** Those records that show one of the hashes as mined, when records show all hashes as mined, or are confirmed already. */
  function untilShown(hashes: readonly string[]): Promise<readonly TransactionRecord[]> {
    return waitFor('the records to show what is mined', async () => {
      const shown = (await client.list()).filter(({ hash, status }) => hash !== null && hashes.includes(hash) && status === 'mined');
      return shown.length === hashes.length ? shown : undefined;
    });
  }
};

const allowedSteps = [
  'pending → sent',
  'sent → submitted',
  'sent → mined',
  'submitted → mined',
  'mined → submitted',
  'mined → mined',
  'mined → confirmed',
];

function checkWay(run: Pick<FaultRun, 'violation'>, id: string, told: readonly ToldStatus[]): void {
  const wrong = stepsOf(told).filter((step) => !allowedSteps.includes(step));
  if (told[0]?.status !== 'pending' || wrong.length > 0) run.violation(`the events of ${id} are in an impossible order`, told);
}

function stepsOf(told: readonly ToldStatus[]): readonly string[] {
  return told.slice(1).map(({ status }, index) => `${told[index]?.status} → ${status}`);
}
