import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startLaneRig } from '../../support/lane-rig.js';

describe('waiting is counted in heads, so that one wrong height neither ends it nor makes it endless', () => {
  for (const height of [1_000_000n, 200n]) {
    it(`a fee bump comes although the first head after the broadcast was ${height} blocks too high`, async (test) => {
      const rig = await startLaneRig(test);
      await rig.pass(1);
      rig.chain.setHeightLie(height);
      const id = await rig.send();
      await rig.pass(1);
      rig.chain.setHeightLie(0n);
      rig.chain.setBaseFee(1_000n);
      await rig.pass(12, 0, 15_000);
      assert.ok((await rig.attempts(id)).length > 1);
    });

    it(`no fee bump comes at once because one head was ${height} blocks too high`, async (test) => {
      const rig = await startLaneRig(test);
      await rig.pass(1);
      const id = await rig.send();
      await rig.pass(1);
      rig.chain.setBaseFee(1_000n);
      rig.chain.setHeightLie(height);
      await rig.pass(1, 0, 3_000);
      rig.chain.setHeightLie(0n);
      assert.equal((await rig.attempts(id)).length, 1);
    });
  }

  it('a foreign use of the key is believed although the head that showed it first was far too high', async (test) => {
    const rig = await startLaneRig(test);
    await rig.pass(1);
    await rig.send();
    await rig.pass(1, 9);
    rig.chain.setAlone(true);
    rig.chain.setHeightLie(1_000_000n);
    rig.chain.useKey('block');
    await rig.pass(1);
    rig.chain.setHeightLie(0n);
    const id = await rig.send();
    await rig.pass(12, 0, 12_000);
    await rig.pass(12, 9, 12_000);
    assert.equal((await rig.transaction(id)).status, 'confirmed');
  });

  it('an attempt that nodes forget again is sent again although the head at the first loss was far too high', async (test) => {
    const rig = await startLaneRig(test);
    await rig.pass(1);
    await rig.send();
    await rig.pass(2, 0);
    rig.chain.setHeightLie(1_000_000n);
    rig.chain.forget(() => false);
    await rig.pass(1, 0);
    rig.chain.setHeightLie(0n);
    rig.chain.forget(() => false);
    await rig.pass(5, 0, 3_000);
    assert.equal(rig.chain.pool.size, 1);
  });
});
