import assert from 'node:assert/strict';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import { type DatabaseState, type HeldTransaction, soleDatabase } from '../../src/core/ports/database-state.js';
import type { Work } from '../../src/core/ports/leases.js';
import type { Rewind } from '../../src/core/ports/shared-database.js';
import { StoreAwayError } from '../../src/core/ports/store/change.js';
import type { Store } from '../../src/core/ports/store/store.js';
import { cancelTransaction } from '../../src/core/transaction/cancel-transaction.js';
import { sendTransaction } from '../../src/core/transaction/send-transaction.js';
import { systemTimers } from '../../src/core/work/timers.js';
import { createEngine, type Engine } from '../../src/engine/engine.js';
import { createSoleLeases } from '../../src/engine/leases/sole.js';
import { openStore } from '../../src/storage/open-store.js';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { type EvmRig, startEvmRig } from '../support/engine-rig.js';
import { wanted } from '../support/evm.js';
import { silentLog } from '../support/stored-samples.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

describe('an engine whose store other instances change', () => {
  let anvil: Anvil | undefined;
  let rig: EvmRig | undefined;
  let other: Engine | undefined;

  afterEach(async () => {
    await other?.stop();
    await rig?.stop();
    await anvil?.stop();
    other = undefined;
    rig = undefined;
    anvil = undefined;
  });

  async function start(changed: (read: Store['read']) => Partial<Store['read']> = () => ({})): Promise<EvmRig> {
    anvil = await startAnvil({ noMining: true });
    const folder = await temporaryFolder();
    const { store } = await openStore(`sqlite:${join(folder, 'relayer.db')}`, { log: silentLog });
    rig = await startEvmRig(anvil, { folder, store: { ...store, read: { ...store.read, ...changed(store.read) } } });
    return rig;
  }

  /** Another engine on the same store, with its works, of which none has begun. */
  async function startOther(
    { deps, clock }: EvmRig,
    store: Store,
    database = soleDatabase,
  ): Promise<{ engine: Engine; works: readonly Work[] }> {
    const works: Work[] = [];
    const leases = {
      ...createSoleLeases(),
      add: async (_kind: string, units: ReadonlyMap<string, Work>) => void works.push(...units.values()),
    };
    const engine = createEngine({
      ...deps,
      store,
      leases,
      clock,
      timers: systemTimers,
      recordRelayerState: () => [],
      database,
      log: silentLog,
    });
    other = engine;
    await engine.start();
    return { engine, works };
  }

  it('a look at their changes that fails is repeated', async () => {
    let willFail = false;
    const rig = await start(({ changesOfRelayer }) => ({
      async changesOfRelayer(...scope) {
        if (!willFail) return changesOfRelayer(...scope);
        willFail = false;
        throw new StoreAwayError('the database is unavailable: all connections are in use');
      },
    }));
    const { engine } = await startOther(rig, rig.store);
    const { transaction } = await sendTransaction({ ...rig.deps, lanes: engine }, rig.relayer, wanted());
    willFail = true;
    rig.engine.changedElsewhere(new Set([rig.relayer.id]));
    await rig.until(transaction.id, 'submitted');
    assert.equal(willFail, false);
  });

  it('a lane looks only at changes that come after what it has loaded', async () => {
    const rig = await start();
    const { transaction } = await rig.send();
    await rig.until(transaction.id, 'submitted');
    await rig.engine.stop();
    const { last } = await rig.store.read.changePositions(rig.relayer.id);
    const looks: number[] = [];
    const read: Store['read'] = {
      ...rig.store.read,
      async changePositions(id) {
        engine.changedElsewhere(new Set([id]));
        return rig.store.read.changePositions(id);
      },
      changesOfRelayer(id, after, limit) {
        looks.push(after);
        return rig.store.read.changesOfRelayer(id, after, limit);
      },
    };
    const { engine, works } = await startOther(rig, { ...rig.store, read });
    await Promise.all(works.map((work) => work.begin()));
    await waitFor('the lane to look at changes', () => looks[0]);
    assert.deepEqual(new Set(looks), new Set([last]));
  });

  it('a hold that is written into the records of signed transactions is removed from them when a lane works again', async () => {
    const rig = await start();
    const [first, canceled] = [(await rig.send()).transaction.id, (await rig.send()).transaction.id];
    for (const id of [first, canceled]) await rig.until(id, 'submitted');
    await cancelTransaction(rig.deps, rig.relayer, canceled);
    const reasonOf = async (id: string) => (await rig.view(id)).transaction.statusReason ?? '';
    await waitFor('a node to have the self-transfer', async () =>
      (await reasonOf(canceled)).startsWith('being canceled') ? true : undefined,
    );
    const usual = [await reasonOf(first), await reasonOf(canceled)];
    await rig.engine.stop();
    let hold: string | null = 'the database lacks commits';
    const { engine, works } = await startOther(rig, rig.store, { ...soleDatabase, hold: () => hold, ownHold: () => hold });
    await engine.explainHold();
    for (const id of [first, canceled])
      assert.equal(await reasonOf(id), 'waiting: nothing is signed or broadcast now: the database lacks commits');
    hold = null;
    await Promise.all(works.map((work) => work.begin()));
    await waitFor('the records to say what they wait for', async () =>
      (await reasonOf(first)) === usual[0] && (await reasonOf(canceled)) === usual[1] ? true : undefined,
    );
  });

  it('after a rewind, an instance keeps once what it has just accepted for the lane of another one, and nothing in other holds', async () => {
    const rig = await start();
    const kept: HeldTransaction[] = [];
    let rewind: Rewind | null = null;
    const database: DatabaseState = { ...soleDatabase, rewind: () => rewind, keepHeld: (held) => void kept.push(...held) };
    const { engine } = await startOther(rig, rig.store, database);
    const { transaction } = await sendTransaction({ ...rig.deps, lanes: engine }, rig.relayer, wanted());
    await engine.explainHold();
    assert.deepEqual(kept, []);
    rewind = { foundAtMs: 0, evidence: 'a row that is gone' };
    await engine.explainHold();
    await engine.explainHold();
    assert.deepEqual(kept, [{ relayer: rig.relayer.id, transaction: transaction.id, nonce: null, hashes: [] }]);
  });

  it('a lane takes in what another instance accepts while the lane loads', async () => {
    const rig = await start();
    const { transaction } = await rig.send();
    await rig.until(transaction.id, 'submitted');
    // From now on it accepts transactions as an instance without the lease does.
    await rig.engine.stop();
    let accepted = '';
    const read: Store['read'] = {
      ...rig.store.read,
      async openTransactions(...scope) {
        const page = await rig.store.read.openTransactions(...scope);
        accepted = (await rig.send()).transaction.id;
        engine.changedElsewhere(new Set([rig.relayer.id]));
        return page;
      },
    };
    const { engine, works } = await startOther(rig, { ...rig.store, read });
    await Promise.all(works.map((work) => work.begin()));
    await rig.until(accepted, 'submitted');
  });
});
