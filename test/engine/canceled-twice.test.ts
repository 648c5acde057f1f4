import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import type { Reads } from '../../src/core/ports/store/store.js';
import { cancelTransaction } from '../../src/core/transaction/cancel-transaction.js';
import type { SendDeps } from '../../src/core/transaction/send-transaction.js';
import { systemTimers } from '../../src/core/work/timers.js';
import { createEngine } from '../../src/engine/engine.js';
import { createSoleLeases } from '../../src/engine/leases/sole.js';
import { openStore } from '../../src/storage/open-store.js';
import { startAnvil } from '../support/anvil.js';
import { startEvmRig } from '../support/engine-rig.js';
import { silentLog } from '../support/stored-samples.js';
import { temporaryFolder } from '../support/temporary-folder.js';

it('two cancels of one transaction at two instances store one attempt, after whichever read of the first one the second one comes', async (test) => {
  const anvil = await startAnvil({ noMining: true });
  test.after(() => anvil.stop());
  const folder = await temporaryFolder();
  const { store } = await openStore(`sqlite:${join(folder, 'relayer.db')}`, { log: silentLog });
  const rig = await startEvmRig(anvil, { folder, store });
  test.after(() => rig.stop());

  /** An instance that calls the lane of another one. */
  async function startRemote(read: Reads): Promise<SendDeps> {
    const leases = { ...createSoleLeases(), add: async () => undefined };
    const deps = { ...rig.deps, store: { ...store, read } };
    const { clock } = rig;
    const engine = createEngine({
      ...deps,
      leases,
      clock,
      timers: systemTimers,
      recordRelayerState: () => [],
      log: silentLog,
    });
    await engine.start();
    test.after(() => engine.stop());
    return { ...deps, lanes: engine };
  }

  const interruption = { reads: 0, after: 0, task: async (): Promise<unknown> => undefined };
  const interrupted = Object.entries(store.read).map(([name, read]) => [
    name,
    async (...values: readonly unknown[]) => {
      const result = await (read as (...all: readonly unknown[]) => Promise<unknown>)(...values);
      interruption.reads += 1;
      if (interruption.reads === interruption.after) await interruption.task();
      return result;
    },
  ]);
  const first = await startRemote(Object.fromEntries(interrupted) as Reads);
  const second = await startRemote(store.read);

  do {
    const { transaction } = await rig.send();
    await rig.until(transaction.id, 'submitted');
    interruption.task = () => cancelTransaction(second, rig.relayer, transaction.id);
    interruption.reads = 0;
    interruption.after += 1;
    const canceled = await cancelTransaction(first, rig.relayer, transaction.id);
    const attempts = await rig.attempts(transaction.id);
    const purposes = attempts.map(({ purpose }) => purpose);
    assert.deepEqual(purposes, ['content', 'cancel'], `the second cancel came after read ${interruption.after}`);
    assert.equal(canceled.shown?.hash, attempts[1]?.hash);
  } while (interruption.reads >= interruption.after);
  // The last one was not interrupted.
  assert.ok(interruption.after > 2, `only ${interruption.after - 1} reads`);
});
