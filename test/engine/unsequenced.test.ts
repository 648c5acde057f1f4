import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { openStore } from '../../src/storage/open-store.js';
import { runs } from '../support/runs.js';
import { createRandom } from '../support/seeded-random.js';
import { silentLog } from '../support/stored-samples.js';
import { runUnsequenced } from '../support/unsequenced-run.js';

/** `MODEL_RUNS` asks for more runs, `MODEL_SEED` for the ones that failed. */
const defaultRuns = 60;
const runsOfModel = Number(process.env.MODEL_RUNS ?? runs(defaultRuns));
const firstSeed = Number(process.env.MODEL_SEED ?? 1);
const stepsPerRun = 150;

/** What so many runs must have met with, or they were not worth it. */
const worthwhile = [
  'content: sent',
  'content: submitted',
  'content: mined',
  'content: confirmed',
  'content: failed',
  'cancel: canceled',
  'cancel: confirmed',
  'expire: expired',
  'expire: confirmed',
  'signed again',
  'queued',
  'queued content is signed',
  'mined before what replaced it',
  'a duplicate waits',
];

async function run(seeds: number, owners: number): Promise<ReadonlySet<string>> {
  const folder = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'relayer-alone-'));
  const { store } = await openStore(`sqlite:${join(folder, 'model.db')}`, { log: silentLog });
  const met = new Set<string>();
  try {
    for (let seed = firstSeed; seed < firstSeed + seeds; seed += 1) {
      const options = { store, random: createRandom(seed), name: `alone${seed}`, steps: stepsPerRun, owners };
      try {
        for (const one of await runUnsequenced(options)) met.add(one);
      } catch (error) {
        throw new Error(`MODEL_SEED=${seed} MODEL_RUNS=1: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  } finally {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
  return met;
}

it('unsequenced transactions become final exactly once, in every order of faults', async () => {
  const met = await run(runsOfModel, 1);
  const missed = worthwhile.filter((one) => !met.has(one));
  if (runsOfModel >= defaultRuns) assert.deepEqual(missed, []);
});

it('two processes that own the lane at once pay every unsequenced transaction once', async () => {
  const met = await run(Math.ceil(runsOfModel / 2), 2);
  if (runsOfModel >= defaultRuns) assert.ok(met.has('a commit is refused'));
});
