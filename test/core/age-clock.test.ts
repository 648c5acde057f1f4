import assert from 'node:assert/strict';
import { it } from 'node:test';
import { openAgeClock } from '../../src/core/age-clock.js';
import type { Changes, Reads } from '../../src/core/ports/store.js';
import { silentLog } from '../support/stored-samples.js';

it('the age clock counts whole milliseconds, which every database can store, though durations have fractions', async (test) => {
  let elapsedMs = 0.25;
  const stored: number[] = [];
  const clock = await openAgeClock({
    store: {
      read: { confirmedTimeMs: async () => 5_000 } as Partial<Reads> as Reads,
      change: {
        confirmTime: (timeMs: number) => {
          stored.push(timeMs);
          return { name: 'confirmTime' };
        },
      } as Partial<Changes> as Changes,
      commit: async () => {},
    },
    // Ahead of what is confirmed, so that the age clock follows the duration.
    clock: { nowMs: () => 7_000, elapsedMs: () => elapsedMs },
    headTimesMs: () => [],
    log: silentLog,
  });
  test.after(() => clock.stop());
  elapsedMs = 100.75;
  assert.equal(clock.nowMs(), 5_100);
  elapsedMs = 9_000.5;
  assert.equal(clock.startOfLifeMs(), 14_000);
  assert.deepEqual(stored, [5_000]);
});
