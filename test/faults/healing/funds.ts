import { parseEther } from 'ethers';
import type { TransactionRecord } from '../../support/relayer-client.js';
import { audit } from '../audit.js';
import { startMiner } from '../miner.js';
import { numbersFrom, paymentOf, sendAll, sendOne } from '../payment.js';
import { openRig, setBalance } from '../rig.js';
import type { FaultSuite } from '../suite.js';
import { untilAll, untilEverythingIsFinal, untilRecord } from '../until.js';
import { untilHeld } from '../until-held.js';

/** The account is emptied while transactions are in flight, callers send more, and the funds come back. */
export const funds: FaultSuite = async (run) => {
  const { anvil, home, start } = await openRig(run, { requiredConfirmations: 2 });
  const { client } = await start();
  const inFlight = await untilAll(client, await sendAll(client, numbersFrom(0, 3)), ['submitted']);
  await setBalance(anvil, home.address, 0n);
  await anvil.mine(2);
  let next = 3;
  const [probe, ...early] = await untilHeld(client, () => sendOne(client, paymentOf(next++)), saysWhy);
  const held = [probe, ...(await sendAll(client, numbersFrom(next, 5)))];
  for (const { id } of held) {
    const record = await untilRecord(client, id, `${id} to say that there are no funds`, saysWhy);
    if (record.status !== 'pending' || record.nonce !== null)
      run.violation('a transaction got a nonce while the account had no funds', record);
  }
  for (const { id } of [...inFlight, ...early]) {
    const record = await client.get(id);
    if (!['sent', 'submitted'].includes(record.status))
      run.violation(`a transaction that was in flight when the funds ran out is now ${record.status}`, record);
  }
  await setBalance(anvil, home.address, parseEther('1000'));
  startMiner(run, anvil, run.random, 400);
  await untilEverythingIsFinal(run, client, 60_000);
  const ledger = await audit(run, { anvil, account: home.address, client });
  return { sends: next + 5, 'on chain': ledger.transactions.length };
};

function saysWhy({ status, status_reason }: TransactionRecord): boolean {
  return status === 'pending' && /fund|balance/i.test(status_reason ?? '');
}
