import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { xdr } from '@stellar/stellar-sdk';
import { type StellarRig, startStellarRig } from '../support/engine-rig.js';
import { temporaryFolder } from '../support/temporary-folder.js';

interface Simulated {
  readonly transactionData: string;
  readonly minResourceFee: string;
}

type Estimate = (data: xdr.SorobanTransactionData) => xdr.SorobanTransactionData;

/** Starts with a node whose simulations are too low. */
async function startWithEstimate(test: TestContext, estimate: Estimate): Promise<StellarRig> {
  const rig = await startStellarRig({
    folder: await temporaryFolder(),
    async answerOf(_, call, ask) {
      const answer = await ask(call);
      if (call.method !== 'simulateTransaction' || !('result' in answer)) return answer;
      const result = answer.result as Simulated;
      const data = estimate(xdr.SorobanTransactionData.fromXdr(result.transactionData, 'base64'));
      return { result: { ...result, transactionData: data.toXdr('base64'), minResourceFee: String(data.resourceFee) } };
    },
  });
  test.after(() => rig.stop());
  return rig;
}

/** What the call needs of the refundable fee is more than the rest. */
const tooLittleStroops = 2_000n;
const withFee =
  (feeOf: (stroops: bigint) => bigint): Estimate =>
  (data) =>
    new xdr.SorobanTransactionData({ ...data, resourceFee: feeOf(data.resourceFee) });

const withoutInstructions: Estimate = (data) =>
  new xdr.SorobanTransactionData({ ...data, resources: new xdr.SorobanResources({ ...data.resources, instructions: 1 }) });

async function call(rig: StellarRig): Promise<string> {
  const contractAddress = rig.node.ledger.testContract;
  const args = [{ kind: 'u32', value: 1 } as const];
  const operations = [{ kind: 'invoke_contract', contractAddress, functionName: 'increment', args, auth: undefined } as const];
  return (await rig.send({ operations })).transaction.id;
}

describe('a contract call that needs more than its simulation says', { concurrency: 4 }, () => {
  it('is paid from the margin of the resource fee, and the ledger gives back what it does not use', async (test) => {
    const exact = await startWithEstimate(test, (data) => data);
    const low = await startWithEstimate(
      test,
      withFee((stroops) => stroops - tooLittleStroops),
    );
    const fees: bigint[] = [];
    for (const rig of [exact, low]) {
      const id = await call(rig);
      const { transaction } = await rig.untilWithBlocks(id, 'confirmed');
      const [attempt] = await rig.attempts(id);
      const paid = transaction.mined?.facts?.feePaid ?? 0n;
      assert.ok(attempt?.fields.network === 'stellar' && paid < attempt.fields.bid.feeStroops, `${paid}`);
      fees.push(paid);
    }
    assert.equal(fees[0], fees[1], 'the margin costs nothing');
  });

  for (const [name, { estimate, reason }] of Object.entries({
    'the resource fee': {
      estimate: withFee((stroops) => ((stroops - tooLittleStroops) * 100n) / 115n),
      reason: /INSUFFICIENT_REFUNDABLE_FEE: the estimated resource fee was too low when the ledger ran it; it can be sent again$/,
    },
    'the instructions': {
      estimate: withoutInstructions,
      reason: /RESOURCE_LIMIT_EXCEEDED: it used more resources than estimated when the ledger ran it; it can be sent again$/,
    },
  })) {
    it(`fails with the estimate as the reason: ${name}`, async (test) => {
      const rig = await startWithEstimate(test, estimate);
      const { transaction } = await rig.untilWithBlocks(await call(rig), 'failed');
      assert.match(transaction.statusReason ?? '', reason);
    });
  }
});
