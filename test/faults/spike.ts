import { parseUnits } from 'ethers';
import type { TransactionRecord } from '../support/relayer-client.js';
import { waitFor } from '../support/wait-for.js';
import { audit, auditPayments } from './audit.js';
import { numbersFrom, sendAll } from './payment.js';
import { openRig } from './rig.js';
import type { FaultSuite } from './suite.js';
import { untilAll, untilEverythingIsFinal, untilRecord } from './until.js';
import { untilHeld } from './until-held.js';

const capWei = parseUnits('5', 'gwei');
const usualWei = parseUnits('1', 'gwei');
const spikeWei = capWei * 10n;
const blocksOfSpike = 8;
const inFlight = 5;
const duringSpike = 15;

/** The base fee goes to ten times the relayer's gas_price_cap, stays there, and comes back. */
export const spike: FaultSuite = async (run) => {
  const rig = await openRig(run, { policies: { gas_price_cap: Number(capWei) }, requiredConfirmations: 2 });
  const { anvil, home } = rig;
  const { client } = await rig.start();
  const rounds = run.isShort ? 1 : 3;
  const accepted = new Map<bigint, string>();
  let next = 0;

  async function send(count: number): Promise<readonly TransactionRecord[]> {
    const records = await sendAll(client, numbersFrom(next, count));
    next += count;
    for (const { id, value } of records) accepted.set(BigInt(value), id);
    return records;
  }

  async function mineAt(baseFeeWei: bigint): Promise<void> {
    await anvil.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${baseFeeWei.toString(16)}`]);
    await anvil.mine();
  }

  for (let round = 0; round < rounds; round++) {
    await mineAt(usualWei);
    const before = await send(inFlight);
    await untilAll(client, before, ['submitted']);
    await mineAt(spikeWei);
    const minedBefore = Number(await anvil.rpc('eth_getTransactionCount', [home.address, 'latest']));
    const [probe, ...early] = await untilHeld(client, async () => (await send(1))[0], saysWhy);
    const held = await send(duringSpike);
    for (let block = 1; block < blocksOfSpike; block++) {
      await mineAt(spikeWei);
      for (const { id } of [probe, ...held]) {
        const record = await untilRecord(client, id, `${id} to say that the cap holds it back`, saysWhy);
        if (record.nonce !== null || record.status !== 'pending')
          run.violation('a pending transaction got a nonce while the base fee was above the cap', record);
      }
    }
    for (const { id } of [...before, ...early]) {
      const record = await client.get(id);
      if (!['sent', 'submitted'].includes(record.status))
        run.violation(`a transaction that was in flight when the spike began is now ${record.status}`, record);
    }
    const minedDuring = Number(await anvil.rpc('eth_getTransactionCount', [home.address, 'latest'])) - minedBefore;
    if (minedDuring > 0) run.violation(`${minedDuring} transactions were mined at a base fee above the cap`);

    // Mined on until all is in: the lane has a limited depth, and confirmations to wait for.
    const pace = { stopped: false };
    const mining = (async () => {
      while (!pace.stopped) {
        await mineAt(usualWei);
        await waitFor('the lane to continue, or 300 ms to pass', () => (pace.stopped ? true : undefined), 300).catch(() => undefined);
      }
    })();
    await untilAll(client, [...before, ...early, probe, ...held], ['confirmed'], 60_000).catch((error: unknown) =>
      run.violation(String(error)),
    );
    pace.stopped = true;
    await mining;
  }

  await untilEverythingIsFinal(run, client, 1_000);
  const ledger = await audit(run, { anvil, account: home.address, client });
  await auditPayments(run, client, ledger, { accepted, unanswered: new Set() });
  return { rounds, 'blocks of spike': rounds * blocksOfSpike, sends: accepted.size, confirmed: ledger.transactions.length };
};

function saysWhy({ status, status_reason }: TransactionRecord): boolean {
  return status === 'pending' && /gas_price_cap|base fee/.test(status_reason ?? '');
}
