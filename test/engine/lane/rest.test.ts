import assert from 'node:assert/strict';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import type { Store } from '../../../src/core/ports/store/store.js';
import { sendTransaction } from '../../../src/core/transaction/send-transaction.js';
import { openStore } from '../../../src/storage/open-store.js';
import { attemptsOf } from '../../support/attempts-of.js';
import { wanted } from '../../support/evm.js';
import { createModelChain } from '../../support/model-chain.js';
import { type ModelLane, modelRelayer, startModelLane } from '../../support/model-lane.js';
import { createRandom } from '../../support/seeded-random.js';
import { silentLog } from '../../support/stored-samples.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

/** The node accepts everything. */
const answersAll = { ...createRandom(1), chance: () => true };

describe('a lane without open transactions', () => {
  let store: Store | undefined;
  let lane: ModelLane | undefined;
  let nowMs = 1_800_000_000_000;

  afterEach(async () => {
    lane?.kill();
    await store?.close();
  });

  async function start() {
    const relayer = modelRelayer('r1', { requiredConfirmations: 1 });
    const chain = createModelChain(relayer.network, relayer.address, answersAll);
    const opened = (await openStore(`sqlite:${join(await temporaryFolder(), 'relayer.db')}`, { log: silentLog })).store;
    const started = await startModelLane(relayer, chain, opened, { nowMs: () => nowMs });
    store = opened;
    lane = started;
    /** Reads the head after this time, and returns the names of all calls that follow. */
    async function see(afterMs = 1_500): Promise<string[]> {
      nowMs += afterMs;
      started.look();
      const calls: string[] = [];
      // Called with each question and each answer.
      await started.flow((name) => calls.includes(name) || calls.push(name));
      assert.deepEqual(started.surprises, []);
      return calls;
    }
    async function block(afterMs?: number): Promise<string[]> {
      chain.mine();
      return see(afterMs);
    }
    await see();
    return {
      chain,
      lane: started,
      rest: started.rest,
      see,
      block,
      send: async () => (await sendTransaction(started.deps, relayer, wanted())).transaction.id,
      transaction: async (id: string) => (await opened.read.transaction(id))?.transaction,
      attempts: (id: string) => attemptsOf(opened.read, id),
    };
  }

  it('asks nodes only for the head, and for its account again after some minutes', async () => {
    const { block } = await start();
    for (let blocks = 0; blocks < 20; blocks += 1) assert.deepEqual(await block(), ['head']);
    const later = await block(900_000);
    assert.ok(later.includes('nextAt'), later.join());
    assert.deepEqual(await block(), ['head']);
  });

  it('reads its account before it signs: someone else may have used the key meanwhile', async () => {
    const { chain, rest, block, see, send, transaction, attempts } = await start();
    for (let blocks = 0; blocks < 5; blocks += 1) await block();
    chain.useKey('block');
    await block();
    const id = await send();
    await rest();
    assert.deepEqual(
      chain.travelling.map(({ name }) => name),
      ['nextAt'],
    );
    for (let blocks = 0; blocks < 4; blocks += 1) {
      await see();
      await block();
    }
    assert.equal((await transaction(id))?.status, 'confirmed');
    assert.deepEqual(
      (await attempts(id)).map(({ nonce }) => nonce),
      [1n],
    );
  });

  it('waits for the head that its waking brings before it reads its account', async () => {
    const { block, chain, lane, rest, see, send, attempts } = await start();
    for (let blocks = 0; blocks < 5; blocks += 1) await block();
    lane.setComesHead(true);
    const id = await send();
    await rest();
    assert.deepEqual(chain.travelling, []);
    assert.equal((await attempts(id)).length, 0);
    const calls = await see();
    assert.ok(calls.indexOf('nextAt') < calls.indexOf('draft'), calls.join());
    assert.equal((await attempts(id)).length, 1);
  });

  it('signs in the same block if its account was read at the newest head', async () => {
    const { see, send, attempts } = await start();
    const id = await send();
    const calls = await see(0);
    assert.ok(!calls.slice(0, calls.indexOf('draft')).includes('nextAt'), calls.join());
    assert.equal((await attempts(id)).length, 1);
  });

  it('follows its account for a minute after its last transaction, and again when the chain goes back', async () => {
    const { chain, block, see, send, transaction } = await start();
    const id = await send();
    await see();
    await block();
    await block();
    assert.equal((await transaction(id))?.status, 'confirmed');
    assert.ok((await block()).includes('nextAt'));
    await block(61_000);
    assert.deepEqual(await block(), ['head']);
    chain.takeBack(4, () => false);
    const calls = await see();
    assert.ok(calls.includes('nextAt'), calls.join());
  });
});
