import { setTimeout as delay } from 'node:timers/promises';
import { parseEther } from 'ethers';
import { type Anvil, startAnvil } from '../../support/anvil.js';
import { readLedger } from '../../support/chain-ledger.js';
import type { RelayerClient } from '../../support/relayer-client.js';
import type { ServiceHome } from '../../support/service.js';
import { waitFor } from '../../support/wait-for.js';
import { numbersFrom, paymentOf, sendAll } from '../payment.js';
import { type FaultRig, openRig, setBalance } from '../rig.js';
import type { FaultRun, FaultSuite } from '../suite.js';
import { untilAll } from '../until.js';

/** Puts a chain with another genesis block behind the same URL, where the account has funds too. */
async function swapChain(run: FaultRun, { anvil, home }: FaultRig): Promise<Anvil> {
  await anvil.stop();
  const other = await startAnvil({ noMining: true, port: anvil.port, args: ['--timestamp', '1000000'] });
  run.atEnd(() => other.stop());
  await setBalance(other, home.address, parseEther('1000'));
  return other;
}

/** Confirms one payment and leaves two in flight. */
async function useChain(rig: FaultRig, client: RelayerClient): Promise<void> {
  const first = await untilAll(client, await sendAll(client, numbersFrom(0, 1)), ['submitted']);
  await rig.anvil.mine();
  await untilAll(client, first, ['confirmed']);
  await untilAll(client, await sendAll(client, numbersFrom(1, 2)), ['submitted']);
}

/** The relayer is disabled with the reason, and no transaction of ours has reached the other chain. */
async function isLeftAlone(run: FaultRun, client: RelayerClient, other: Anvil, home: ServiceHome) {
  let accepted = 0;
  let next = 10;
  await waitFor('a send to be rejected, because the node serves a different chain', async () => {
    // A few sends are enough to see whether one gets through.
    await delay(200);
    const { status, reason, text } = await client.send(paymentOf(next++));
    if (status === 200) accepted += 1;
    return status === 403 && reason === 'RELAYER_DISABLED' && /a different chain/.test(text) ? true : undefined;
  }).catch((error: unknown) => run.violation(String(error)));
  // Transactions accepted before had the time of several blocks to be sent.
  for (let block = 0; block < 5; block++) {
    await other.mine();
    await client.list();
  }
  const { transactions } = await readLedger(other, home.address);
  if (transactions.length > 0) run.violation('a transaction was mined on the other chain', transactions);
  const pool = await other.rpc('txpool_status');
  if (JSON.stringify(pool) !== '{"pending":"0x0","queued":"0x0"}') run.violation('a transaction was sent to the other chain', pool);
  const records = await client.list();
  const wrong = records.filter(({ status }) => !['pending', 'sent', 'submitted', 'confirmed'].includes(status));
  if (wrong.length > 0) run.violation('a transaction became final because of the other chain', wrong);
  return { 'accepted before it was known': accepted, records: records.length };
}

/** The chain is another one when the service starts again. */
const atStart: FaultSuite = async (run) => {
  const rig = await openRig(run);
  const { client, service } = await rig.start();
  await useChain(rig, client);
  await service.stop();
  const other = await swapChain(run, rig);
  return isLeftAlone(run, (await rig.start()).client, other, rig.home);
};

/** The chain becomes another one under a running service. */
const whileRunning: FaultSuite = async (run) => {
  const rig = await openRig(run);
  const { client } = await rig.start();
  await useChain(rig, client);
  const other = await swapChain(run, rig);
  return isLeftAlone(run, client, other, rig.home);
};

/** Another chain is behind the same URL. */
export const otherGenesis = { atStart, whileRunning };
