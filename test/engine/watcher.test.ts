import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import type { Chain } from '../../src/core/ports/chain.js';
import { systemTimers } from '../../src/core/ports/timers.js';
import { createDirectory } from '../../src/core/relayer/create-directory.js';
import { createWatcher } from '../../src/engine/watcher.js';
import { openStore } from '../../src/storage/open-store.js';
import { createModelChain } from '../support/model-chain.js';
import { modelRelayer } from '../support/model-lane.js';
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
  const watcher = createWatcher({ chain, store, directory, recordRelayerState, timers: systemTimers, log: silentLog });
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
  };
  watcher.add({ relayerId: 'r1', isReported: () => true });
  watcher.listen(lane);
  watcher.start();
  await waitFor('a tick', () => (ticks > 0 ? true : undefined));
  assert.equal(expected, '0xours');

  foreign = '0xtheirs';
  const reason =
    'the RPC nodes serve a different chain: the genesis block is now 0xtheirs; nothing is sent until they serve the earlier chain again';
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
  const later = { tick: () => void later.ticks++, unreachable: () => undefined, ticks: 0 };
  watcher.listen(later);
  assert.equal(later.ticks, 1, 'a new listener gets the newest head at once');
  await waitFor('another head', () => (later.ticks > 3 ? true : undefined));
  assert.equal(ticks, last, 'one that has left gets none');
});
