import assert from 'node:assert/strict';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import type { Store } from '../../../src/core/ports/store/store.js';
import { sendTransaction } from '../../../src/core/transaction/send-transaction.js';
import { openStore } from '../../../src/storage/open-store.js';
import { attemptsOf } from '../../support/attempts-of.js';
import { wanted } from '../../support/evm.js';
import { startLaneRig } from '../../support/lane-rig.js';
import { createModelChain, type ModelChain } from '../../support/model-chain.js';
import { type ModelLane, modelRelayer, startModelLane } from '../../support/model-lane.js';
import { createRandom } from '../../support/seeded-random.js';
import { silentLog } from '../../support/stored-samples.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

/** The node accepts everything. */
const answersAll = { ...createRandom(1), chance: () => true };

describe('foreign use of a nonce', () => {
  let store: Store | undefined;
  let lane: ModelLane | undefined;
  let nowMs = 1_800_000_000_000;

  afterEach(async () => {
    lane?.kill();
    await store?.close();
  });

  async function start(
    requiredConfirmations: number,
  ): Promise<{ chain: ModelChain; lane: ModelLane; store: Store; send(): Promise<string> }> {
    const relayer = modelRelayer('r1', { requiredConfirmations });
    const chain = createModelChain(relayer.network, relayer.address, answersAll);
    const opened = (await openStore(`sqlite:${join(await temporaryFolder(), 'relayer.db')}`, { log: silentLog })).store;
    const started = await startModelLane(relayer, chain, opened, { nowMs: () => nowMs });
    store = opened;
    lane = started;
    return {
      chain,
      lane: started,
      store: opened,
      async send() {
        const { transaction } = await sendTransaction(started.deps, relayer, wanted());
        await see(started);
        return transaction.id;
      },
    };
  }

  async function see(one: ModelLane, expectedErrors = 0): Promise<void> {
    nowMs += 1_500;
    one.look();
    await one.flow();
    assert.ok(one.surprises.length <= expectedErrors, one.surprises.join());
  }

  async function stand(from: Store, id: string) {
    const view = await from.read.transaction(id);
    assert.ok(view !== undefined);
    return view.transaction;
  }

  it('a displaced transaction gets another nonce, and the search of the old one says nothing about it', async () => {
    const { chain, lane, store, send } = await start(3);
    const id = await send();
    chain.useKey('block');
    for (let blocks = 0; blocks < 4; blocks += 1) {
      chain.mine(0);
      await see(lane);
    }
    const { nonce, status, statusReason } = await stand(store, id);
    assert.deepEqual({ nonce, status }, { nonce: 1n, status: 'submitted' });
    assert.equal(statusReason, 'waiting: an RPC node has accepted it; not mined yet');
  });

  it('a slot that was not searched yet is not given up at its first empty search', async () => {
    const { chain, lane, store, send } = await start(70);
    // The lane searches for four per head; the fifth waits until those are deep.
    const ids = [await send(), await send(), await send(), await send(), await send()];
    for (const _ of ids) chain.useKey('block');
    for (let blocks = 0; blocks < 66; blocks += 1) {
      chain.mine(0);
      await see(lane);
    }
    const last = ids.at(-1) ?? '';
    assert.equal((await stand(store, last)).status, 'submitted');
    let isBlind = false;
    for (let blocks = 0; blocks < 8; blocks += 1) {
      chain.mine(0);
      // After the first four have ended, a node that lags far behind answers the searches.
      isBlind ||= (await stand(store, ids[3] ?? '')).nonce !== 3n;
      nowMs += 1_500;
      lane.look();
      await lane.flow((name) => chain.setLag(isBlind && name === 'findSender' ? 100 : 0));
    }
    assert.ok(isBlind);
    assert.notEqual((await stand(store, last)).status, 'failed');
  });

  it('waiting for its confirmations signs no attempt and does not rebroadcast it', async () => {
    const { chain, lane, store, send } = await start(40);
    const ids = [await send(), await send()];
    chain.useKey('block');
    chain.setBaseFee(1_000_000n);
    for (let blocks = 0; blocks < 30; blocks += 1) {
      chain.mine(0);
      await see(lane);
    }
    const [first, second] = await Promise.all(ids.map((id) => attemptsOf(store.read, id)));
    assert.equal(first?.length, 1);
    assert.ok((second?.length ?? 0) > 1, 'the one behind it is raised');
    // What a pool shows for long is sent again, less and less often.
    for (const { hash, version } of second ?? []) assert.ok((chain.offers.get(hash) ?? 0) <= 3, `version ${version}`);
  });

  it('a user that no node ever shows fails the transaction, which is never signed again', async () => {
    const { chain, lane, store, send } = await start(3);
    const id = await send();
    chain.useKey('block');
    for (let blocks = 0; blocks < 80; blocks += 1) {
      chain.mine(0);
      nowMs += 10_000;
      lane.look();
      await lane.flow((name) => chain.setLag(name === 'findSender' ? 100 : 0));
      if (blocks === 60) assert.match((await stand(store, id)).statusReason ?? '', /report no attempt of the service there/);
    }
    const { status, statusReason, failureReason } = await stand(store, id);
    assert.deepEqual([status, failureReason], ['failed', 'unresolvable']);
    assert.match(statusReason ?? '', /^outcome unknown: no RPC node has the transaction that used nonce \d+; check the account's history/);
    assert.equal((await attemptsOf(store.read, id)).length, 1);
  });

  it('one endpoint that shows a nonce as used fails no transaction while another one shows it as free', async () => {
    const { chain, lane, store, send } = await start(3);
    const id = await send();
    chain.setNonceLie(1n, 'head');
    for (let blocks = 0; blocks < 80; blocks += 1) {
      chain.mine(0);
      nowMs += 10_000;
      lane.look();
      await lane.flow((name) => chain.setLag(name === 'findSender' ? 100 : 0));
    }
    assert.equal((await stand(store, id)).status, 'submitted');
    chain.setNonceLie(0n);
    for (let blocks = 0; blocks < 5; blocks += 1) {
      chain.mine();
      await see(lane);
    }
    assert.equal((await stand(store, id)).status, 'confirmed');
  });

  it('another endpoint that shows too high a nonce keeps no transaction from its fee bumps', async (test) => {
    const attempts = async (nonceLie: bigint) => {
      const rig = await startLaneRig(test);
      const id = await rig.send();
      rig.chain.setNonceLie(nonceLie, 'others');
      await rig.pass(6);
      rig.chain.setBaseFee(10_000n);
      await rig.pass(30);
      return (await rig.attempts(id)).length;
    };
    const honest = await attempts(0n);
    assert.ok(honest > 1, `${honest} attempts`);
    assert.equal(await attempts(1_000n), honest);
  });

  it('searches that find nothing become less frequent, and are repeated at every head once one finds something', async () => {
    const { chain, lane, send } = await start(50);
    await send();
    chain.useKey('block');
    let searches = 0;
    const pass = async (blocks: number, lag: number): Promise<number> => {
      const before = searches;
      for (let block = 0; block < blocks; block += 1) {
        chain.mine(0);
        nowMs += 1_500;
        lane.look();
        await lane.flow((name) => {
          // A question and its answer.
          if (name === 'findSender') searches += 0.5;
          chain.setLag(name === 'findSender' ? lag : 0);
        });
      }
      return searches - before;
    };
    const first = await pass(25, 100);
    assert.ok(first <= 6, `${first} searches`);
    await pass(8, 0);
    assert.equal(await pass(4, 0), 4);
  });

  it('a gateway that counts its pool into the nonce fails no transaction that still waits there', async () => {
    const { chain, lane, store, send } = await start(3);
    chain.setPoolCounted(true);
    const id = await send();
    assert.equal(chain.pool.size, 1);
    for (let blocks = 0; blocks < 80; blocks += 1) {
      chain.mine(0);
      nowMs += 10_000;
      await see(lane);
    }
    assert.equal((await stand(store, id)).status, 'submitted');
    for (let blocks = 0; blocks < 4; blocks += 1) {
      chain.mine();
      await see(lane);
    }
    assert.equal((await stand(store, id)).status, 'confirmed');
  });

  it('a receipt in a block that the chain does not have resolves nothing', async () => {
    const { chain, lane, store, send } = await start(3);
    chain.mine(0);
    chain.mine(0);
    await see(lane);
    const id = await send();
    chain.mine();
    chain.setReceiptLie((receipt) => ({ ...receipt, blockNumber: 1n, blockHash: `0x${'0f'.repeat(32)}`, succeeded: false }));
    await see(lane);
    assert.equal((await stand(store, id)).status, 'submitted');
    chain.setReceiptLie(null);
    for (let blocks = 0; blocks < 3; blocks += 1) {
      chain.mine(0);
      await see(lane);
    }
    assert.equal((await stand(store, id)).status, 'confirmed');
  });

  it('confirmations count only up to a head that the node can show by its number', async () => {
    const { chain, lane, store, send } = await start(12);
    const id = await send();
    chain.mine();
    await see(lane);
    chain.setHeightLie(20n);
    await see(lane);
    await see(lane);
    assert.equal((await stand(store, id)).status, 'mined');
    chain.setHeightLie(0n);
    for (let blocks = 0; blocks < 11; blocks += 1) {
      chain.mine(0);
      await see(lane);
    }
    assert.equal((await stand(store, id)).status, 'confirmed');
  });

  it('a node that lags shows no transaction as taken out of its block', async () => {
    const { chain, lane, store, send } = await start(20);
    const id = await send();
    chain.mine();
    await see(lane);
    const { revision } = await stand(store, id);
    for (let blocks = 0; blocks < 4; blocks += 1) {
      chain.mine(0);
      chain.setLag(6);
      await see(lane);
    }
    chain.setLag(0);
    chain.mine(0);
    await see(lane);
    const { status, revision: after } = await stand(store, id);
    assert.deepEqual([status, after], ['mined', revision]);
  });

  it('a nonce that a late reorg frees is ours again', async () => {
    const { chain, lane, store, send } = await start(100);
    const id = await send();
    const before = chain.blocks.length;
    chain.useKey('block');
    for (let blocks = 0; blocks < 70; blocks += 1) {
      chain.mine(0);
      await see(lane);
    }
    assert.match((await stand(store, id)).statusReason ?? '', /waiting for its confirmations/);
    chain.takeBack(chain.blocks.length - before, () => false);
    for (let blocks = 0; blocks < 72; blocks += 1) {
      chain.mine(0);
      await see(lane);
    }
    assert.deepEqual([(await stand(store, id)).status, (await stand(store, id)).nonce], ['submitted', 0n]);
    chain.mine();
    await see(lane);
    assert.equal((await stand(store, id)).status, 'mined');
  });

  it('a nonce that a reorg frees below a signed one is filled by one self-transfer', async () => {
    const { chain, lane, send, store } = await start(100);
    const before = chain.blocks.length;
    chain.useKey('block');
    chain.mine(0);
    await see(lane);
    chain.mine(0);
    await see(lane);
    const id = await send();
    assert.equal((await stand(store, id)).nonce, 1n);
    chain.takeBack(chain.blocks.length - before, () => false);
    for (let blocks = 0; blocks < 5; blocks += 1) {
      chain.mine();
      await see(lane);
    }
    assert.equal(chain.accountNonce(), 2n);
    assert.equal((await stand(store, id)).status, 'mined');
    assert.equal((await store.read.transactionsOf('r1', [], { offset: 0, limit: 10 })).total, 2);
  });

  it('one answer with a nonce that is far too high makes no gap and signs nothing there', async () => {
    const { chain, lane, send, store } = await start(3);
    const first = await send();
    chain.mine();
    await see(lane);
    chain.setNonceLie(1_000n);
    chain.mine(0);
    await see(lane);
    const second = await send();
    assert.equal((await stand(store, second)).status, 'pending');
    chain.setNonceLie(0n);
    for (let blocks = 0; blocks < 6; blocks += 1) {
      chain.mine();
      await see(lane);
    }
    assert.deepEqual([(await stand(store, first)).status, (await stand(store, second)).nonce], ['confirmed', 1n]);
    assert.equal((await stand(store, second)).status, 'confirmed');
    assert.equal((await store.read.transactionsOf('r1', [], { offset: 0, limit: 10 })).total, 2);
  });

  it('a nonce that another node contradicts is not believed, and does not stop the lane from signing', async () => {
    const { chain, lane, send, store } = await start(3);
    const first = await send();
    chain.mine();
    chain.setNonceLie(5n, 'head');
    for (let blocks = 0; blocks < 4; blocks += 1) {
      chain.mine(0);
      await see(lane);
    }
    const second = await send();
    assert.equal((await stand(store, second)).nonce, 1n);
    chain.setNonceLie(0n);
    for (let blocks = 0; blocks < 6; blocks += 1) {
      chain.mine();
      await see(lane);
    }
    assert.deepEqual([(await stand(store, first)).status, (await stand(store, second)).nonce], ['confirmed', 1n]);
    assert.equal((await store.read.transactionsOf('r1', [], { offset: 0, limit: 10 })).total, 2);
  });

  it('a nonce that a foreign transaction raised is believed, even if a wrong answer was doubted before', async () => {
    const { chain, lane, send, store } = await start(3);
    await send();
    chain.mine();
    await see(lane);
    chain.setNonceLie(5n, 'head');
    chain.mine(0);
    await see(lane);
    // The head never shows our own nonce again.
    chain.setNonceLie(0n);
    chain.useKey('block');
    await see(lane);
    const second = await send();
    for (let blocks = 0; blocks < 8; blocks += 1) {
      chain.mine();
      await see(lane);
    }
    assert.deepEqual([(await stand(store, second)).status, (await stand(store, second)).nonce], ['confirmed', 2n]);
  });

  it('a nonce that a foreign transaction raised is believed after a while if no other node answers', async () => {
    const { chain, lane, send, store } = await start(3);
    const first = await send();
    chain.mine();
    chain.setAlone(true);
    chain.useKey('block');
    for (let blocks = 0; blocks < 4; blocks += 1) {
      chain.mine(0);
      await see(lane);
    }
    const second = await send();
    assert.equal((await stand(store, second)).nonce, null);
    for (let blocks = 0; blocks < 45; blocks += 1) {
      chain.mine();
      await see(lane);
    }
    assert.deepEqual([(await stand(store, first)).status, (await stand(store, second)).nonce], ['confirmed', 2n]);
  });

  it('a first nonce that is far too high is not believed while another node does not confirm it', async () => {
    const { chain, send, store } = await start(3);
    chain.setNonceLie(5n, 'head');
    chain.mine(0);
    assert.equal((await stand(store, await send())).nonce, 0n);
  });

  for (const [isLie, nonce] of [
    [true, 0n],
    [false, 1n],
  ] as const) {
    it(`a first nonce ${isLie ? 'that is wrong' : 'of a foreign transaction'} is not believed from one node alone while another one is down, unless it lasts`, async () => {
      const { chain, lane, send, store } = await start(3);
      chain.setAlone(true);
      if (isLie) chain.setNonceLie(5n);
      else chain.useKey('block');
      chain.mine(0);
      const id = await send();
      for (let blocks = 0; blocks < 3; blocks += 1) {
        chain.mine(0);
        await see(lane);
      }
      assert.equal((await stand(store, id)).nonce, null);
      chain.setNonceLie(0n);
      for (let blocks = 0; blocks < 45; blocks += 1) {
        chain.mine();
        await see(lane);
      }
      assert.equal((await stand(store, id)).nonce, nonce);
    });
  }

  it('a nonce above ours that nodes show only without a block number is not believed', async () => {
    const { chain, lane, send, store } = await start(3);
    await send();
    chain.mine();
    await see(lane);
    chain.setPruned(true);
    chain.setNonceLie(5n);
    for (let blocks = 0; blocks < 4; blocks += 1) {
      chain.mine(0);
      await see(lane);
    }
    assert.equal((await stand(store, await send())).nonce, 1n);
  });

  it('a chain that shows more unused nonces than a reorg frees gets no self-transfers', async () => {
    const { chain, lane, send, store } = await start(3);
    chain.setNonceLie(1_000n);
    chain.mine(0);
    await see(lane);
    chain.mine(0);
    await see(lane);
    const id = await send();
    assert.equal((await stand(store, id)).nonce, 1_000n);
    chain.setNonceLie(0n);
    for (let blocks = 0; blocks < 10; blocks += 1) {
      chain.mine();
      await see(lane, 1);
    }
    assert.equal((await store.read.transactionsOf('r1', [], { offset: 0, limit: 10 })).total, 1);
  });
});
