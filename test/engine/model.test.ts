import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openStore } from '../../src/storage/open-store.js';
import { runModel } from '../support/model-run.js';
import { runs } from '../support/runs.js';
import { createRandom } from '../support/seeded-random.js';
import { silentLog } from '../support/stored-samples.js';

/** `MODEL_RUNS` sets the number of runs, `MODEL_SEED` repeats a failed one. */
const defaultRuns = 50;
const runsOfModel = Number(process.env.MODEL_RUNS ?? runs(defaultRuns));
const firstSeed = Number(process.env.MODEL_SEED ?? 1);
const stepsPerRun = 150;

/** The events that this number of runs must include to be useful. */
const worthwhile = [
  'pending > sent',
  'sent > submitted',
  'submitted > mined',
  'mined > submitted',
  'mined > confirmed',
  'mined > failed',
  'mined > canceled',
  'mined > expired',
  'pending > canceled',
  'pending > expired',
  'pending > failed',
  'another nonce is to be had',
  'an earlier version is mined',
  'three versions',
  'content over content',
  'a slot is given up',
];

describe('the lane in every order of faults', () => {
  async function run(seeds: number, { deepReorgs = false, owners = 1 } = {}): Promise<ReadonlySet<string>> {
    // In memory if possible: no test here cuts the power, and syncing to a disk takes most of the time.
    const folder = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'relayer-model-'));
    const { store } = await openStore(`sqlite:${join(folder, 'model.db')}`, { log: silentLog });
    const met = new Set<string>();
    try {
      for (let seed = firstSeed; seed < firstSeed + seeds; seed += 1) {
        const random = createRandom(seed);
        try {
          for (const one of await runModel({ store, random, name: `run${seed}`, steps: stepsPerRun, deepReorgs, owners })) met.add(one);
        } catch (error) {
          throw new Error(`MODEL_SEED=${seed} MODEL_RUNS=1: ${error instanceof Error ? error.message : String(error)}`);
        }
      }
      return met;
    } finally {
      await store.close();
      await rm(folder, { recursive: true, force: true });
    }
  }

  it('every accepted transaction becomes final exactly once', async () => {
    const met = await run(runsOfModel);
    if (runsOfModel >= defaultRuns)
      assert.deepEqual(
        worthwhile.filter((one) => !met.has(one)),
        [],
      );
  });

  it('two processes that own the lane at once pay every transaction once', async () => {
    const met = await run(Math.ceil(runsOfModel / 2), { owners: 2 });
    if (runsOfModel >= defaultRuns) assert.ok(met.has('a commit is refused'));
  });

  it('after a reorg deeper than the confirmations nothing final changes and nothing stalls', async () => {
    await run(Math.ceil(runsOfModel / 4), { deepReorgs: true });
  });
});
