import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { laneOf } from '../../../src/core/records/relayer.js';
import { sendTransaction } from '../../../src/core/transaction/send-transaction.js';
import { storedAtOnce } from '../../../src/engine/lane/commit-moves.js';
import { deferred } from '../../support/deferred.js';
import { wanted } from '../../support/evm.js';
import { type LaneRig, type LaneRigOptions, startLaneRig } from '../../support/lane-rig.js';
import { modelRelayer } from '../../support/model-lane.js';
import { waitFor } from '../../support/wait-for.js';

const relayer = modelRelayer('r1', { requiredConfirmations: 3 });

/** Lets the lane work until a broadcast of the attempts of these transactions is on its way. Each of them is signed, which is its second revision. */
async function startBroadcast(
  test: TestContext,
  options: LaneRigOptions = {},
): Promise<{ readonly rig: LaneRig; readonly ids: readonly string[] }> {
  const rig = await startLaneRig(test, options);
  const { deps, rest } = rig.lane();
  await rig.see();
  const sent = await Promise.all([1n, 2n, 3n, 4n].map((valueWei) => sendTransaction(deps, relayer, wanted({ valueWei }))));
  const [first = '', ...ids] = sent.map(({ transaction: { id } }) => id);
  const answerUntil = (isAnswered: (name: string) => boolean, id: string, status: string | number) =>
    waitFor(`${id} to be at ${status}`, async () => {
      const { status: now, revision } = await rig.transaction(id);
      if (status === now || status === revision) return true;
      rig.chain.travelling.find(({ name }) => isAnswered(name))?.letGo('answered');
      await rest();
      return undefined;
    });
  // The lane broadcasts the one that came first alone, and signs the others meanwhile.
  for (const id of ids) await answerUntil((name) => name !== 'broadcastAll', id, 2);
  await answerUntil((name) => name === 'broadcastAll', first, 'submitted');
  return { rig, ids };
}

/** Changes a transaction as another instance does. */
async function changeElsewhere({ store, transaction }: LaneRig, id: string): Promise<void> {
  const current = await transaction(id);
  await store.commit([store.change.updateTransaction({ ...current, statusReason: 'changed elsewhere', revision: current.revision + 1 })]);
}

function standOf(rig: LaneRig, ids: readonly string[]): Promise<readonly string[]> {
  return Promise.all(
    ids.map(async (id) => {
      const { status, revision } = await rig.transaction(id);
      return `${status} ${revision}`;
    }),
  );
}

describe('changes of several transactions at once', () => {
  it('the answers to a broadcast are stored, each once, if another instance has changed one of the transactions', async (test) => {
    const { rig, ids } = await startBroadcast(test);
    assert.deepEqual(await standOf(rig, ids), ['sent 2', 'sent 2', 'sent 2']);
    await changeElsewhere(rig, ids[1] ?? '');
    // The clock stands still: a task that failed would not run again.
    await rig.lane().flow();
    assert.deepEqual(rig.lane().surprises, []);
    assert.deepEqual(await standOf(rig, ids), ['submitted 3', 'submitted 4', 'submitted 3']);
  });

  it('the answers to a broadcast are stored, each once, if the database refuses them together', async (test) => {
    let refused = 0;
    const refuses: LaneRigOptions['refuses'] = (changes) => {
      const isRefused = changes.length > 1 && changes.every(({ name }) => name === 'updateTransaction');
      if (isRefused) refused += 1;
      return isRefused;
    };
    const { rig, ids } = await startBroadcast(test, { refuses });
    await rig.lane().flow();
    assert.equal(refused, 1);
    assert.deepEqual(rig.lane().surprises, []);
    assert.deepEqual(await standOf(rig, ids), ['submitted 3', 'submitted 3', 'submitted 3']);
  });

  it('the answers to a broadcast do not wait for a transaction that a caller holds', async (test) => {
    const { rig, ids } = await startBroadcast(test);
    const [, held = ''] = ids;
    const released = deferred();
    const holding = rig.lane().deps.lanes.move({ ...laneOf(relayer), id: held, revision: 2 }, async () => {
      await released.promise;
      return null;
    });
    await rig.lane().flow();
    assert.deepEqual(await standOf(rig, ids), ['submitted 3', 'sent 2', 'submitted 3']);
    released.resolve();
    await holding;
    await rig.lane().rest();
    assert.deepEqual(await standOf(rig, ids), ['submitted 3', 'submitted 3', 'submitted 3']);
  });

  it('slots are settled, each once, if another instance has changed one of the transactions', async (test) => {
    const { rig, ids } = await startBroadcast(test);
    await rig.lane().flow();
    rig.chain.mine(9);
    rig.lane().look();
    await waitFor('the lane to ask for receipts', async () => {
      await rig.lane().rest();
      if (rig.chain.travelling.some(({ name }) => name === 'receipts')) return true;
      rig.chain.travelling[0]?.letGo('answered');
      return undefined;
    });
    await changeElsewhere(rig, ids[1] ?? '');
    await rig.lane().flow();
    assert.deepEqual(rig.lane().surprises, []);
    assert.deepEqual(await standOf(rig, ids), ['mined 4', 'mined 5', 'mined 4']);
    await rig.pass(3);
    assert.deepEqual(await standOf(rig, ids), ['confirmed 5', 'confirmed 6', 'confirmed 5']);
  });

  it('a block with many transactions lets other commits in between its own', async (test) => {
    const sent = 3 * storedAtOnce;
    const updates: number[] = [];
    let most = 0;
    let begun = 0;
    const rig = await startLaneRig(test, {
      policies: { maxInFlight: sent },
      refuses(changes) {
        begun += 1;
        most = Math.max(most, begun);
        updates.push(changes.filter(({ name }) => name === 'updateTransaction').length);
        return false;
      },
      losesAnswer() {
        begun -= 1;
        return false;
      },
    });
    await rig.see();
    for (let count = 0; count < sent; count += 1) await rig.send({ valueWei: BigInt(count) });
    rig.chain.mine(sent);
    most = 0;
    updates.length = 0;
    await rig.see();
    assert.deepEqual(updates, [storedAtOnce, storedAtOnce, storedAtOnce]);
    assert.equal(most, 1, 'another commit would wait for so many of these');
  });

  it('a caller that takes hold of a transaction of a block while its first changes are written delays none of the others', async (test) => {
    const sent = 3 * storedAtOnce;
    const released = deferred();
    const ids: string[] = [];
    let hold: (() => void) | undefined;
    const rig = await startLaneRig(test, {
      policies: { maxInFlight: sent },
      refuses() {
        hold?.();
        hold = undefined;
        return false;
      },
    });
    await rig.see();
    for (let count = 0; count < sent; count += 1) ids.push(await rig.send({ valueWei: BigInt(count) }));
    rig.chain.mine(sent);
    let holding: Promise<unknown> | undefined;
    const held = ids[2 * storedAtOnce] ?? '';
    hold = () => {
      holding = rig.lane().deps.lanes.move({ ...laneOf(relayer), id: held, revision: 1 }, async () => {
        await released.promise;
        return null;
      });
    };
    await rig.see();
    const submitted = async () =>
      (await Promise.all(ids.map(rig.transaction))).flatMap(({ id, status }) => (status === 'mined' ? [] : [id]));
    assert.deepEqual(await submitted(), [held]);
    released.resolve();
    await holding;
    await rig.lane().flow();
    assert.deepEqual(await submitted(), []);
  });
});
