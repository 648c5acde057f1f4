import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { payment, stellarKey } from '../support/stellar.js';
import { type StellarRigOptions, startStellarRig } from '../support/stellar-rig.js';
import { temporaryFolder } from '../support/temporary-folder.js';

async function start(test: TestContext, options: Partial<StellarRigOptions> = {}) {
  const rig = await startStellarRig({ folder: await temporaryFolder(), ...options });
  test.after(() => rig.stop());
  return rig;
}

describe('transactions on Stellar', () => {
  it('are signed, sent, mined and confirmed', async (test) => {
    const to = stellarKey().address;
    const rig = await start(test, { accounts: { [to]: 10_000_000n } });
    const { transaction } = await rig.send({ operations: [payment(to, 5_000_000n)] });
    await rig.until(transaction.id, 'submitted');
    const confirmed = await rig.untilWithLedgers(transaction.id, 'confirmed');
    assert.equal(confirmed.transaction.statusReason, null);
    assert.deepEqual(confirmed.transaction.mined?.facts, { network: 'stellar', feeChargedStroops: 100n, returnValueXdr: null });
    assert.equal(await rig.chain.balanceOf(to), 15_000_000n);
    assert.equal(await rig.chain.balanceOf(rig.key.address), 1_000_000_000n - 5_000_000n - 100n);
  });
});
