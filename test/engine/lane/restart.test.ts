import assert from 'node:assert/strict';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import type { Store } from '../../../src/core/ports/store/store.js';
import { sendTransaction } from '../../../src/core/transaction/send-transaction.js';
import { openStore } from '../../../src/storage/open-store.js';
import { wanted } from '../../support/evm.js';
import { createModelChain } from '../../support/model-chain.js';
import { type ModelLane, modelRelayer, startModelLane } from '../../support/model-lane.js';
import { createRandom } from '../../support/seeded-random.js';
import { silentLog } from '../../support/stored-samples.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

/** The node accepts everything. */
const answersAll = { ...createRandom(1), chance: () => true };

describe('a restart', () => {
  let store: Store | undefined;
  let lane: ModelLane | undefined;

  afterEach(async () => {
    lane?.kill();
    await store?.close();
  });

  it('an attempt that expired while the service was down is never broadcast, also before its self-transfer is signed', async () => {
    let nowMs = 1_800_000_000_000;
    const clock = { nowMs: () => nowMs };
    const relayer = modelRelayer('r1', {});
    const chain = createModelChain(relayer.network, relayer.address, answersAll);
    store = (await openStore(`sqlite:${join(await temporaryFolder(), 'relayer.db')}`, { log: silentLog })).store;
    lane = await startModelLane(relayer, chain, store, clock);
    lane.look();
    await lane.flow();
    const validUntilMs = nowMs + 10_000;
    const { transaction: expired } = await sendTransaction(lane.deps, relayer, wanted({}, validUntilMs));
    await lane.flow();
    assert.equal(chain.pool.size, 1);

    lane.kill();
    nowMs += 11_000;
    chain.forget(() => false);
    lane = await startModelLane(relayer, chain, store, clock);
    lane.look();
    const restarted = lane;
    const untilNothingBut = async (held: (name: string) => boolean): Promise<void> => {
      await restarted.rest();
      for (let next = chain.travelling.find(({ name }) => !held(name)); next !== undefined; ) {
        next.letGo('answered');
        await restarted.rest();
        next = chain.travelling.find(({ name }) => !held(name));
      }
    };
    await untilNothingBut((name) => name === 'draft');
    // The expiry is being priced. Another request wakes everything else.
    const { transaction: fresh } = await sendTransaction(lane.deps, relayer, wanted());
    await lane.rest();
    const [, freshDraft] = chain.travelling;
    freshDraft?.letGo('answered');
    chain.travelling.find(({ isAnswer }) => isAnswer)?.letGo('answered');
    await untilNothingBut((name) => name === 'draft');
    assert.equal(chain.pool.get(0n), undefined);

    await lane.flow();
    assert.equal(chain.pool.get(0n)?.hash, (await store.read.transaction(expired.id))?.shown?.hash);
    assert.equal((await store.read.transaction(expired.id))?.shown?.purpose, 'expire');
    assert.equal((await store.read.transaction(fresh.id))?.transaction.status, 'submitted');
  });
});
