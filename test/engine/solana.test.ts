import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { solanaKey, transferInstruction } from '../support/solana.js';
import { type SolanaRigOptions, startSolanaRig } from '../support/solana-rig.js';
import { temporaryFolder } from '../support/temporary-folder.js';

async function start(test: TestContext, options: Partial<SolanaRigOptions> = {}) {
  const rig = await startSolanaRig({ folder: await temporaryFolder(), ...options });
  test.after(() => rig.stop());
  return rig;
}

describe('transactions on Solana', () => {
  it('are signed, sent, mined and confirmed', async (test) => {
    const rig = await start(test);
    const to = solanaKey().address;
    const { transaction } = await rig.send({ instructions: [transferInstruction(rig.key.address, to, 5_000_000n)] });
    await rig.until(transaction.id, 'submitted');
    rig.solana.chain.advance(2);
    const mined = await rig.until(transaction.id, 'mined');
    assert.equal(mined.shown?.hash, (await rig.attempts(transaction.id))[0]?.hash);
    const confirmed = await rig.untilWithBlocks(transaction.id, 'confirmed');
    assert.equal(confirmed.transaction.statusReason, null);
    assert.equal(await rig.chain.balanceOf(to), 5_000_000n);
  });
});
