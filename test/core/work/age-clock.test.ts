import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { openAgeClock } from '../../../src/core/work/age-clock.js';
import { silentLog } from '../../support/stored-samples.js';

const dayMs = 86_400_000;
const hourMs = 3_600_000;
/** The right time at the start of a service that last ran a minute ago. */
const rightMs = 1_000 * dayMs;
const lastRunMs = rightMs - 60_000;

/** What the service finds at its start; times are milliseconds. */
interface Start {
  readonly confirmedTimeMs: number;
  readonly clockMs: number;
  readonly witnessesMs?: readonly number[];
  readonly elapsedMs?: () => number;
}

/** Opens the age clock, and resolves when it has stored its first time. */
async function openClock(test: TestContext, { confirmedTimeMs, clockMs, witnessesMs = [], elapsedMs = () => 0 }: Start) {
  const stored: number[] = [];
  const clock = await openAgeClock({
    stored: {
      read: async () => confirmedTimeMs,
      write: async (timeMs) => void stored.push(timeMs),
    },
    clock: { nowMs: () => clockMs, elapsedMs },
    witnessesMs: () => witnessesMs,
    log: silentLog,
  });
  const storing = clock.startStoring();
  test.after(() => storing.stop());
  return { clock, stored };
}

describe('the age clock', () => {
  it('the age clock counts whole milliseconds, which every database can store, though durations have fractions', async (test) => {
    let elapsedMs = 0.25;
    // The system clock is ahead of what is confirmed, so that the age clock follows the duration.
    const { clock, stored } = await openClock(test, { confirmedTimeMs: 5_000, clockMs: 7_000, elapsedMs: () => elapsedMs });
    elapsedMs = 100.75;
    assert.equal(clock.nowMs(), 5_100);
    elapsedMs = 9_000.5;
    assert.equal(clock.startOfLifeMs(), 14_000);
    assert.deepEqual(stored, [5_000]);
  });

  it('the age clock keeps its time while the system clock is behind and no block is known, so that new records do not expire early', async (test) => {
    const { clock, stored } = await openClock(test, { confirmedTimeMs: lastRunMs, clockMs: rightMs - 2 * dayMs });
    assert.deepEqual([clock.startOfLifeMs(), stored], [lastRunMs, [lastRunMs]]);
  });

  it('the age clock keeps its time while the system clock is behind the newest block', async (test) => {
    const { clock, stored } = await openClock(test, {
      confirmedTimeMs: lastRunMs,
      clockMs: rightMs - 2 * dayMs,
      witnessesMs: [rightMs - 400 * dayMs, rightMs],
    });
    assert.deepEqual([clock.startOfLifeMs(), stored], [rightMs, [lastRunMs]]);
  });

  it('the age clock goes back, after the system clock was ahead, if the system clock and the newest block agree', async (test) => {
    const { clock, stored } = await openClock(test, {
      confirmedTimeMs: rightMs + 300 * dayMs,
      clockMs: rightMs,
      witnessesMs: [rightMs - 30_000],
    });
    assert.deepEqual([clock.startOfLifeMs(), stored], [rightMs, [rightMs]]);
  });

  it('the age clock does not go back if the newest block is an hour older than the system clock', async (test) => {
    const { stored } = await openClock(test, {
      confirmedTimeMs: rightMs + dayMs,
      clockMs: rightMs,
      witnessesMs: [rightMs - hourMs - 1],
    });
    assert.deepEqual(stored, [rightMs + dayMs]);
  });
});
