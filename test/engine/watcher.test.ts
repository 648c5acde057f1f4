import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { Chain } from '../../src/core/ports/chain/chain.js';
import type { Head } from '../../src/core/ports/chain/head.js';
import { chainKeyOf } from '../../src/core/records/network.js';
import { createDirectory } from '../../src/core/relayer/create-directory.js';
import { systemClock } from '../../src/core/work/clock.js';
import { systemTimers } from '../../src/core/work/timers.js';
import { createWatcher } from '../../src/engine/watcher.js';
import { openStore } from '../../src/storage/open-store.js';
import { createModelChain } from '../support/model-chain.js';
import { modelRelayer } from '../support/model-lane.js';
import { blockNumbered, createModelWatcher } from '../support/model-watcher.js';
import { createRandom } from '../support/seeded-random.js';
import { silentLog } from '../support/stored-samples.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

it('relayers are disabled while every node serves another chain, and enabled when a node of the stored chain answers', async (test) => {
  const { store } = await openStore(`sqlite:${join(await temporaryFolder(), 'relayer.db')}`, { log: silentLog });
  const relayer = { ...modelRelayer('r1', {}), network: { ...modelRelayer('r1', {}).network, averageBlockTimeMs: 1 } };
  const model = createModelChain(relayer.network, relayer.address, createRandom(1));
  let foreign: string | null = null;
  let expected: string | null = null;
  const chain: Chain = {
    ...model.connect().chain,
    genesisHash: async () => '0xours',
    expectGenesis: (hash) => {
      expected = hash;
    },
    foreignGenesis: () => foreign,
    head: async () => {
      if (foreign !== null) throw new Error('no node can be asked');
      return { number: 1n, hash: '0x01', timestampMs: 0 };
    },
  };
  const signer = {
    id: 's',
    curve: 'secp256k1',
    address: relayer.address,
    signDigest: () => Promise.reject(new Error('nothing is signed')),
  } as const;
  const directory = createDirectory([{ relayer, chain, signer }]);
  const told: string[] = [];
  const recordRelayerState = ({ id, disabledReason }: { id: string; disabledReason: string | null }, event: string) => {
    told.push(`${event} ${id} ${disabledReason}`);
    return [];
  };
  const watcher = createWatcher({ chain, store, directory, recordRelayerState, timers: systemTimers, clock: systemClock, log: silentLog });
  test.after(async () => {
    await watcher.stop();
    await store.close();
  });
  let ticks = 0;
  let failures = 0;
  const lane = {
    tick() {
      ticks += 1;
    },
    unreachable() {
      failures += 1;
    },
    isResting: () => false,
  };
  watcher.add({ relayerId: 'r1', isReported: () => true });
  watcher.listen(lane);
  watcher.start();
  await waitFor('a tick', () => (ticks > 0 ? true : undefined));
  assert.equal(expected, '0xours');

  foreign = '0xtheirs';
  const reason =
    'the RPC nodes serve a different chain: the genesis block is now 0xtheirs, not 0xours; nothing is sent until they serve the earlier chain again';
  await waitFor('it to be disabled', () => (told.length > 0 ? true : undefined));
  assert.equal(directory.relayer('r1')?.disabledReason, reason);
  await waitFor('the lane to know', () => (failures > 0 ? true : undefined));
  directory.put({ relayer: { ...relayer, id: 'r2' }, chain, signer });
  watcher.add({ relayerId: 'r2', isReported: () => true });
  assert.equal(directory.relayer('r2')?.disabledReason, reason, 'one that comes later stands as the chain does');

  foreign = null;
  const before = ticks;
  await waitFor('a tick again', () => (ticks > before ? true : undefined));
  assert.deepEqual([directory.relayer('r1')?.disabledReason, directory.relayer('r2')?.disabledReason], [null, null]);
  assert.deepEqual(told, [`relayer_disabled r1 ${reason}`, 'relayer_enabled r1 null', 'relayer_enabled r2 null']);
  assert.equal(watcher.remove('r1'), 1);

  watcher.stopListening(lane);
  const last = ticks;
  const later = { tick: () => void later.ticks++, unreachable: () => undefined, isResting: () => false, ticks: 0 };
  watcher.listen(later);
  await waitFor('another head', () => (later.ticks > 3 ? true : undefined));
  assert.equal(ticks, last, 'one that has left gets none');
});

it('a chain that too few nodes tell is used, is not remembered, and is asked for again every ten seconds', async (test) => {
  let asked = 0;
  let told: string | null = null;
  const made = await createModelWatcher({
    async genesisHash() {
      asked += 1;
      return told;
    },
  });
  test.after(made.end);
  await made.start();
  const key = chainKeyOf(modelRelayer('r1', {}).network);
  await made.time.pass(60_000);
  assert.ok(asked >= 6 && asked <= 8, `${asked}`);
  assert.equal(await made.store.read.genesisHash(key), undefined);
  told = '0xours';
  await made.time.pass(15_000);
  assert.equal(await made.store.read.genesisHash(key), '0xours');
  const last = asked;
  await made.time.pass(60_000);
  assert.equal(asked, last);
});

describe('the pace of the polls', () => {
  async function start(test: TestContext) {
    const state = { isDown: false };
    const made = await createModelWatcher({
      async head(polls) {
        if (state.isDown) throw new Error('no node can be asked');
        return blockNumbered(polls);
      },
    });
    test.after(made.end);
    await made.start();
    return {
      ...made,
      state,
      async pollsOfTwoMinutes() {
        const before = made.polls();
        await made.time.pass(120_000);
        return made.polls() - before;
      },
    };
  }

  function laneThat(rests: boolean) {
    const lane = { rests, heads: [] as bigint[] };
    return Object.assign(lane, {
      tick: ({ number }: Head) => void lane.heads.push(number),
      unreachable: () => undefined,
      isResting: () => lane.rests,
    });
  }

  it('is four times per block while a lane has something to do, and once while every lane rests', async (test) => {
    const { watcher, pollsOfTwoMinutes } = await start(test);
    assert.equal(await pollsOfTwoMinutes(), 10, 'without a lane');
    const [resting, working] = [laneThat(true), laneThat(false)];
    watcher.listen(resting);
    assert.equal(await pollsOfTwoMinutes(), 10);
    watcher.listen(working);
    await pollsOfTwoMinutes();
    assert.equal(await pollsOfTwoMinutes(), 40);
    working.rests = true;
    await pollsOfTwoMinutes();
    assert.equal(await pollsOfTwoMinutes(), 10);
  });

  it('is as usual while no node answers', async (test) => {
    const { state, pollsOfTwoMinutes } = await start(test);
    state.isDown = true;
    await pollsOfTwoMinutes();
    assert.equal(await pollsOfTwoMinutes(), 40);
  });

  it('a lane that wakes, and one that comes, gets a newer head at once if polls were put off', async (test) => {
    const { watcher, polls, time } = await start(test);
    const woken = laneThat(true);
    watcher.listen(woken);
    const old = polls();
    await time.pass(6_500);
    assert.deepEqual([polls(), watcher.wake()], [old, true]);
    assert.equal(watcher.wake(), true, 'the same head is on its way');
    await time.pass(0);
    assert.deepEqual([polls(), woken.heads.at(-1)], [old + 1, BigInt(old + 1)]);
    assert.equal(watcher.wake(), false, 'it is new');
    await time.pass(6_500);
    const added = laneThat(false);
    watcher.listen(added);
    await time.pass(0);
    assert.deepEqual(added.heads, [BigInt(old + 2)]);
  });
});
