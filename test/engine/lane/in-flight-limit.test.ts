import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { sendTransaction } from '../../../src/core/transaction/send-transaction.js';
import { wanted } from '../../support/evm.js';
import { type LaneRig, startLaneRig } from '../../support/lane-rig.js';
import { modelRelayer } from '../../support/model-lane.js';

/** A lane whose limit is automatic, with this many transactions. */
async function startWith(test: TestContext, count: number, prepare: (rig: LaneRig) => void = () => undefined) {
  const policies = { maxInFlight: null };
  const rig = await startLaneRig(test, { policies });
  prepare(rig);
  const relayer = modelRelayer('r1', { requiredConfirmations: 3 }, policies);
  const sent = await Promise.all(Array.from({ length: count }, () => sendTransaction(rig.lane().deps, relayer, wanted())));
  await rig.see();
  return { rig, ids: sent.map(({ transaction }) => transaction.id) };
}

/** The numbers in flight, read after each of these blocks. */
async function inFlightOver(rig: LaneRig, ids: readonly string[], blocks: number, mostPerBlock: number): Promise<readonly number[]> {
  const counts: number[] = [];
  for (let block = 0; block < blocks; block += 1) {
    await rig.pass(1, mostPerBlock);
    const statuses = await Promise.all(ids.map(async (id) => (await rig.transaction(id)).status));
    counts.push(statuses.filter((status) => status === 'sent' || status === 'submitted').length);
  }
  return counts;
}

async function assertAllConfirmedAtFirstAttempt(rig: LaneRig, ids: readonly string[], blocks: number): Promise<void> {
  await rig.pass(blocks, 9);
  for (const id of ids) {
    assert.equal((await rig.transaction(id)).status, 'confirmed', id);
    assert.equal((await rig.attempts(id)).length, 1, id);
  }
}

describe('the automatic limit of transactions in flight', () => {
  it('begins with 16 and doubles at each head at which the node has them all', async (test) => {
    const { rig, ids } = await startWith(test, 70);
    assert.equal(rig.chain.pool.size, 16);
    assert.deepEqual(await inFlightOver(rig, ids, 3, 0), [32, 64, 70]);
    assert.equal(rig.lane().limit(), 128);
    await assertAllConfirmedAtFirstAttempt(rig, ids, 14);
  });

  it('doubles if a block takes everything in flight', async (test) => {
    const { rig, ids } = await startWith(test, 60);
    assert.deepEqual(await inFlightOver(rig, ids, 2, 100), [32, 12]);
  });

  it('does not grow while it is not reached', async (test) => {
    const { rig } = await startWith(test, 3);
    await rig.pass(10);
    assert.equal(rig.lane().limit(), 16);
  });

  for (const more of ['refused', 'dropped'] as const) {
    it(`is halved if the pool is full and more is ${more}; everything is mined at its first price`, async (test) => {
      const { rig, ids } = await startWith(test, 40, ({ chain }) => chain.setCapacity(6, more));
      await rig.pass(2);
      assert.equal(rig.lane().limit(), 8);
      await assertAllConfirmedAtFirstAttempt(rig, ids, 60);
    });
  }

  it('is learned per endpoint', async (test) => {
    const { rig } = await startWith(test, 40);
    await rig.pass(2);
    assert.equal(rig.lane().limit(), 64);
    rig.chain.setEndpoint(1);
    await rig.pass(1);
    assert.equal(rig.lane().limit(), 16);
    rig.chain.setEndpoint(0);
    await rig.pass(1);
    assert.equal(rig.lane().limit(), 64);
  });

  it('a given number stays a hard limit', async (test) => {
    const rig = await startLaneRig(test, { policies: { maxInFlight: 5 } });
    const ids: string[] = [];
    for (let sent = 0; sent < 12; sent += 1) ids.push(await rig.send());
    assert.deepEqual(await inFlightOver(rig, ids, 4, 0), [5, 5, 5, 5]);
  });
});
