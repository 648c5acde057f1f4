import { readLedger } from '../../support/chain-ledger.js';
import type { RelayerClient, TransactionRecord } from '../../support/relayer-client.js';
import { waitFor } from '../../support/wait-for.js';
import { audit } from '../audit.js';
import { startMiner } from '../miner.js';
import { numbersFrom, sendAll } from '../payment.js';
import { type FaultRig, openRig } from '../rig.js';
import type { FaultRun, FaultSuite } from '../suite.js';
import { untilAll, untilEverythingIsFinal } from '../until.js';

const payments = 5;

/** Removes every block that contains a transaction of ours; resolves when the chain has none. */
type LoseBlocks = () => Promise<void>;

/** Confirms some payments in a block each, and returns the functions that undo them. */
async function confirmSome(
  run: FaultRun,
  way: 'reorg' | 'revert',
): Promise<{
  rig: FaultRig;
  records: readonly TransactionRecord[];
  client: RelayerClient;
  stop(): Promise<unknown>;
  loseBlocks: LoseBlocks;
}> {
  const rig = await openRig(run, { requiredConfirmations: 2 });
  const { anvil, home } = rig;
  await anvil.mine(3);
  const snapshot = await anvil.rpc('evm_snapshot');
  const { client, service } = await rig.start();
  for (const index of numbersFrom(0, payments)) {
    await untilAll(client, await sendAll(client, [index]), ['submitted']);
    await anvil.mine();
  }
  await anvil.mine(2);
  const records = await untilAll(client, (await client.list()).toReversed(), ['confirmed']);
  return {
    rig,
    records,
    client,
    stop: () => service.stop(),
    async loseBlocks() {
      if (way === 'revert') await anvil.rpc('evm_revert', [snapshot]);
      else {
        const { height, transactions } = await readLedger(anvil, home.address);
        await anvil.rpc('anvil_reorg', [height - (transactions[0]?.blockNumber ?? height) + 1, []]);
      }
      const left = await readLedger(anvil, home.address);
      if (left.transactions.length > 0) throw new Error('the chain has not lost the blocks');
    },
  };
}

/** Confirmed transactions are back under their own hashes and were signed only once, and the next ones are confirmed too. */
async function healed(run: FaultRun, rig: FaultRig, client: RelayerClient, confirmed: readonly TransactionRecord[]) {
  const { anvil, home } = rig;
  startMiner(run, anvil, run.random, 400);
  const later = await sendAll(client, numbersFrom(payments, 2));
  const areBack = async () => {
    const { byHash } = await readLedger(anvil, home.address);
    return confirmed.every(({ hash }) => hash !== null && byHash.has(hash)) ? true : undefined;
  };
  await waitFor('the confirmed transactions to be in blocks again under their own hashes', areBack, 60_000).catch(async (error: unknown) =>
    run.violation(String(error), { confirmed, ledger: await readLedger(anvil, home.address) }),
  );
  await untilEverythingIsFinal(run, client, 30_000);
  for (const { id, hash } of confirmed) {
    const record = await client.get(id);
    const attempts = await client.attempts(id);
    if (record.status !== 'confirmed' || record.hash !== hash) run.violation('a confirmed record changed', { hash, record });
    if (attempts.length !== 1) run.violation('the service signed a confirmed transaction again', { record, attempts });
  }
  const ledger = await audit(run, { anvil, account: home.address, client });
  return { confirmed: confirmed.length, later: later.length, 'on chain': ledger.transactions.length };
}

/** The chain loses more blocks than the confirmations, and grows new ones to the same height. */
const byReorg: FaultSuite = async (run) => {
  const { rig, client, records, loseBlocks } = await confirmSome(run, 'reorg');
  await loseBlocks();
  return healed(run, rig, client, records);
};

/** The same while the service is down. */
const whileDown: FaultSuite = async (run) => {
  const { rig, records, stop, loseBlocks } = await confirmSome(run, 'reorg');
  await stop();
  await loseBlocks();
  const { client } = await rig.start();
  return healed(run, rig, client, records);
};

/** The chain is reset to an earlier, lower state. */
const byRevert: FaultSuite = async (run) => {
  const { rig, client, records, loseBlocks } = await confirmSome(run, 'revert');
  await loseBlocks();
  return healed(run, rig, client, records);
};

/** The same genesis, and confirmed blocks are gone. */
export const lostBlocks = { byReorg, whileDown, byRevert };
