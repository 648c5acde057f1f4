import assert from 'node:assert/strict';
import { it } from 'node:test';
import { xdr } from '@stellar/stellar-sdk';
import { createStellarChain } from '../../../src/chains/stellar/stellar-chain.js';
import { startStellarRig } from '../../support/engine-rig.js';
import { relayed, startFakeNode } from '../../support/fake-node.js';
import { payment, stellarKey } from '../../support/stellar.js';
import { change, v1Of } from '../../support/stellar-xdr.js';
import { silentLog } from '../../support/stored-samples.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

/** Another transaction of the same account and sequence number, without a signature. */
function forged(envelopeXdr: string): string {
  const envelope = xdr.TransactionEnvelope.fromXdr(envelopeXdr, 'base64');
  const v1 = v1Of(envelope);
  change(v1.tx, { fee: v1.tx.fee + 1 });
  change(v1, { signatures: [] });
  return envelope.toXdr('base64');
}

it('a transaction that nobody signed did not use the sequence number', async (test) => {
  const rig = await startStellarRig({ folder: await temporaryFolder(), accounts: { [stellarKey().address]: 10n ** 9n } });
  test.after(() => rig.stop());
  const { transaction } = await rig.send({ operations: [payment(rig.key.address, 5n)] });
  await rig.untilWithBlocks(transaction.id, 'confirmed');
  const { nonce, account } = (await rig.attempts(transaction.id))[0] ?? {};
  assert.ok(nonce != null && account !== undefined);
  const lying = await startFakeNode(test, async (request) => {
    const answers = [JSON.parse((await relayed(rig.node.url, request)).body)].flat();
    for (const [at, { method }] of request.calls.entries())
      if (method === 'getTransactions') for (const one of answers[at].result.transactions) one.envelopeXdr = forged(one.envelopeXdr);
    return { body: JSON.stringify(request.isBatch ? answers : answers[0]) };
  });
  const { network } = rig.relayer;
  assert.ok(network.type === 'stellar');
  const chain = createStellarChain({ network, rpcUrls: [{ url: lying.url, weight: 100 }], rpcTimeoutMs: 2_000, log: silentLog });
  test.after(() => chain.close());
  const head = await chain.head();
  const user = await chain.sequence?.findSender(account, nonce, { from: 0n, to: head.number });
  assert.ok(typeof user === 'string', `believed: ${typeof user === 'string' ? user : user?.hash}`);
});
