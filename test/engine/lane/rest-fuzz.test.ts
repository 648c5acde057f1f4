import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import { sendTransaction } from '../../../src/core/transaction/send-transaction.js';
import { openStore } from '../../../src/storage/open-store.js';
import { attemptsOf } from '../../support/attempts-of.js';
import { wanted } from '../../support/evm.js';
import { createModelChain } from '../../support/model-chain.js';
import { modelRelayer, startModelLane } from '../../support/model-lane.js';
import { createRandom } from '../../support/seeded-random.js';
import { silentLog } from '../../support/stored-samples.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

/** A lane that rests again and again, whose head comes at once, later, or not, while callers send and others use its key. */
async function run(seed: number) {
  const random = createRandom(seed);
  const relayer = modelRelayer('r1', { requiredConfirmations: 2 });
  const chain = createModelChain(relayer.network, relayer.address, { ...createRandom(seed), chance: () => true });
  const { store } = await openStore(`sqlite:${join(await temporaryFolder(), 'relayer.db')}`, { log: silentLog });
  let nowMs = 1_800_000_000_000;
  const lane = await startModelLane(relayer, chain, store, { nowMs: () => nowMs });
  const ids: string[] = [];
  async function answerSome() {
    for (let turn = 0; turn < 1 + 3 * Number(random.chance(0.5)); turn += 1) {
      await lane.rest();
      const { travelling } = chain;
      const at = random.chance(0.5) ? 0 : travelling.length - 1;
      travelling[at]?.letGo(random.chance(0.95) ? 'answered' : 'answer_lost');
    }
    await lane.rest();
  }
  for (let step = 0; step < 150; step += 1) {
    nowMs += random.chance(0.1) ? 70_000 : random.chance(0.05) ? 950_000 : 700;
    lane.setComesHead(random.chance(0.7));
    if (random.chance(0.12)) ids.push((await sendTransaction(lane.deps, relayer, wanted())).transaction.id);
    if (random.chance(0.05)) lane.storeReturned();
    if (random.chance(0.05)) lane.deps.lanes.noteUnanswered({ chain: 'x', account: relayer.address } as never);
    if (random.chance(0.4)) chain.mine();
    if (random.chance(0.03)) chain.useKey(random.chance(0.5) ? 'pool' : 'block');
    // A poll may fail, or hang for a while.
    if (random.chance(0.7)) lane.look();
    await answerSome();
    if (random.chance(0.3)) await lane.flow();
  }
  for (let rounds = 0; rounds < 60; rounds += 1) {
    chain.mine();
    nowMs += 12_000;
    lane.look();
    await lane.flow();
  }
  assert.deepEqual(lane.surprises, [], `seed ${seed}`);
  for (const id of ids) {
    const view = await store.read.transaction(id);
    const attempts = await attemptsOf(store.read, id);
    assert.equal(view?.transaction.status, 'confirmed', `seed ${seed}: ${view?.transaction.statusReason}`);
    const paid = attempts.filter(({ hash, purpose }) => purpose === 'content' && chain.minedIn(hash) !== undefined).length;
    assert.equal(paid, 1, `seed ${seed}: paid ${paid} times`);
  }
  lane.kill();
  await store.close();
  return ids.length;
}

it('a lane that rests and wakes at random pays each transaction exactly once, and never stands still', async (test) => {
  let sent = 0;
  for (let seed = 1; seed <= 25; seed += 1) sent += await run(seed);
  test.diagnostic(`${sent} transactions`);
  assert.ok(sent > 100);
});
