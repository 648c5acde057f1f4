import { parseUnits, Wallet } from 'ethers';
import type { Anvil } from '../../support/anvil.js';
import type { ServiceHome } from '../../support/service.js';
import { audit } from '../audit.js';
import { startMiner } from '../miner.js';
import { numbersFrom, otherReceiver, sendAll } from '../payment.js';
import { openRig } from '../rig.js';
import type { FaultSuite } from '../suite.js';
import { untilAll, untilEverythingIsFinal } from '../until.js';

/** A foreign process signs with the relayer's key at this nonce, and outbids every attempt there. Resolves to the hash. */
async function signElsewhere(anvil: Anvil, home: ServiceHome, nonce: number): Promise<string> {
  const raw = await new Wallet(`0x${home.privateKey}`).signTransaction({
    type: 2,
    chainId: 31337,
    nonce,
    to: otherReceiver,
    value: 77n,
    gasLimit: 21_000n,
    maxFeePerGas: parseUnits('100', 'gwei'),
    maxPriorityFeePerGas: parseUnits('50', 'gwei'),
  });
  return String(await anvil.rpc('eth_sendRawTransaction', [raw]));
}

/** A foreign process uses the relayer's next nonces while nothing is in flight. */
const before: FaultSuite = async (run) => {
  const { anvil, home, start } = await openRig(run, { requiredConfirmations: 2 });
  const { client } = await start();
  startMiner(run, anvil, run.random, 400);
  await untilAll(client, await sendAll(client, numbersFrom(0, 2)), ['confirmed']);
  const foreign = new Set<string>();
  for (const nonce of [2, 3, 4]) foreign.add(await signElsewhere(anvil, home, nonce));
  const records = await sendAll(client, numbersFrom(2, 3));
  await untilEverythingIsFinal(run, client, 60_000);
  const ledger = await audit(run, { anvil, account: home.address, client, foreign });
  return { sends: 2 + records.length, foreign: foreign.size, 'on chain': ledger.transactions.length };
};

/** A foreign process uses a slot in which an attempt of ours waits, and the next nonce. */
const inFlight: FaultSuite = async (run) => {
  const { anvil, home, start } = await openRig(run, { requiredConfirmations: 2 });
  const { client } = await start();
  await untilAll(client, await sendAll(client, numbersFrom(0, 4)), ['submitted']);
  const foreign = new Set([await signElsewhere(anvil, home, 1), await signElsewhere(anvil, home, 4)]);
  const later = await sendAll(client, numbersFrom(4, 2));
  startMiner(run, anvil, run.random, 400);
  await untilEverythingIsFinal(run, client, 60_000);
  const ledger = await audit(run, { anvil, account: home.address, client, foreign });
  return { sends: 4 + later.length, foreign: foreign.size, 'on chain': ledger.transactions.length };
};

/** A foreign process uses the relayer's key. */
export const foreignUse = { before, inFlight };
