import { waitFor } from '../../support/wait-for.js';
import { audit } from '../audit.js';
import { startMiner } from '../miner.js';
import { numbersFrom, sendAll } from '../payment.js';
import { openRig } from '../rig.js';
import type { FaultSuite } from '../suite.js';
import { untilAll, untilEverythingIsFinal } from '../until.js';

/** The node forgets transactions that it accepted: the first of three, so that the others wait for it, and the last. */
export const dropped: FaultSuite = async (run) => {
  const { anvil, home, start } = await openRig(run, { requiredConfirmations: 2 });
  const { client } = await start();
  const submitted = await untilAll(client, await sendAll(client, numbersFrom(0, 3)), ['submitted']);
  // Transactions that are sent at once take nonces in any order.
  const records = submitted.toSorted((a, b) => (a.nonce ?? 0) - (b.nonce ?? 0));
  const forgotten = [records[0], records[2]].flatMap((record) => (record === undefined ? [] : [record]));
  for (const { hash } of forgotten) await anvil.rpc('anvil_dropTransaction', [hash]);
  for (const { id } of forgotten) {
    const look = async () => (await anvil.rpc('eth_getTransactionByHash', [(await client.get(id)).hash])) ?? undefined;
    await waitFor(`${id} to be in the pool again`, look, 60_000).catch((error: unknown) => run.violation(String(error)));
  }
  startMiner(run, anvil, run.random, 400);
  await untilEverythingIsFinal(run, client, 30_000);
  const ledger = await audit(run, { anvil, account: home.address, client });
  return { sends: records.length, dropped: forgotten.length, 'on chain': ledger.transactions.length };
};
