import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startLaneRig } from '../../support/lane-rig.js';

/** What one transaction of the rig may cost at most, with 1 wei of value. */
const oneCosts = 21_000n * 230n + 1n;

describe('the funds of a lane', () => {
  it('the funds of a lane: are asked for once per head, also if several sends follow one another', async (test) => {
    const rig = await startLaneRig(test);
    await rig.send({ valueWei: 1n });
    await rig.send({ valueWei: 1n });
    assert.equal(rig.asked('balanceOf'), 1);
    rig.chain.mine();
    await rig.send({ valueWei: 1n });
    assert.equal(rig.asked('balanceOf'), 2);
  });

  it('the funds of a lane: remain reserved by what is in flight, also for sends that share a balance', async (test) => {
    const rig = await startLaneRig(test);
    rig.chain.setFunds(2n * oneCosts);
    const ids = [await rig.send({ valueWei: 1n }), await rig.send({ valueWei: 1n }), await rig.send({ valueWei: 1n })];
    const statuses = await Promise.all(ids.map(async (id) => (await rig.transaction(id)).status));
    assert.deepEqual(statuses, ['submitted', 'submitted', 'pending']);
    assert.match((await rig.transaction(ids[2] ?? '')).statusReason ?? '', /insufficient balance/);
  });

  it('the funds of a lane: are asked for again at the same head after a while', async (test) => {
    const rig = await startLaneRig(test);
    rig.chain.setFunds(oneCosts);
    await rig.send({ valueWei: 1n });
    const id = await rig.send({ valueWei: 1n });
    assert.match((await rig.transaction(id)).statusReason ?? '', /insufficient balance/);
    rig.chain.setFunds(10n ** 18n);
    await rig.see(4_000);
    await rig.see(4_000);
    assert.equal((await rig.transaction(id)).status, 'submitted');
  });
});
