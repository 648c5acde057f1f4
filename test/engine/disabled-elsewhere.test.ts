import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import { soleDatabase } from '../../src/core/ports/database-state.js';
import type { Work } from '../../src/core/ports/leases.js';
import { systemIds } from '../../src/core/records/ids.js';
import { createDirectory } from '../../src/core/relayer/create-directory.js';
import { createFeed } from '../../src/core/transaction/feed.js';
import { noJournal } from '../../src/core/transaction/journal.js';
import { monotonicMs, systemClock } from '../../src/core/work/clock.js';
import { systemTimers } from '../../src/core/work/timers.js';
import { createEngine } from '../../src/engine/engine.js';
import { createSoleLeases } from '../../src/engine/leases/sole.js';
import { openStore } from '../../src/storage/open-store.js';
import { createModelChain } from '../support/model-chain.js';
import { modelRelayer } from '../support/model-lane.js';
import { createRandom } from '../support/seeded-random.js';
import { silentLog } from '../support/stored-samples.js';
import { temporaryFolder } from '../support/temporary-folder.js';

it('engine: a relayer whose lane runs at another instance is disabled while that one says so, unless the chain disables it', async (test) => {
  const { store } = await openStore(`sqlite:${join(await temporaryFolder(), 'relayer.db')}`, { log: silentLog });
  const relayer = modelRelayer('r1', {});
  const chain = {
    ...createModelChain(relayer.network, relayer.address, createRandom(1)).connect().chain,
    genesisHash: async () => '0xours',
    expectGenesis: () => undefined,
    head: async () => ({ number: 1n, hash: '0x01', timestampMs: 0 }),
  };
  const signDigest = () => Promise.reject(new Error('nothing is signed'));
  const signer = { id: 's', curve: 'secp256k1', address: relayer.address, signDigest } as const;
  const directory = createDirectory([{ relayer, chain, signer }]);
  let work: Work | undefined;
  const leases = {
    ...createSoleLeases(),
    add: async (_kind: string, added: ReadonlyMap<string, Work>) => {
      [work] = added.values();
    },
  };
  const clock = { ...systemClock, elapsedMs: monotonicMs };
  const feed = createFeed(store.read);
  const none = () => [];
  const engine = createEngine({
    store,
    leases,
    directory,
    recordEvent: none,
    recordRelayerState: none,
    database: soleDatabase,
    feed,
    journal: noJournal,
    clock,
    timers: systemTimers,
    ids: systemIds,
    log: silentLog,
  });
  await engine.start();
  test.after(async () => {
    await engine.stop();
    await store.close();
  });
  const reason = () => directory.relayer('r1')?.disabledReason;

  work?.noted?.('the account is gone');
  assert.equal(reason(), 'the account is gone');
  work?.noted?.(null);
  assert.equal(reason(), null);

  work?.noted?.('the account is gone');
  directory.setDisabled('r1', 'another chain');
  work?.noted?.(null);
  assert.equal(reason(), 'another chain');
});
