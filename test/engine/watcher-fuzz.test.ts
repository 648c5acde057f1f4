import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Timers } from '../../src/core/work/timers.js';
import type { HeadListener } from '../../src/engine/watcher.js';
import { blockNumbered, createModelWatcher } from '../support/model-watcher.js';
import { createRandom } from '../support/seeded-random.js';
import type { VirtualTime } from '../support/virtual-time.js';

/** A lane of the fuzz: rests or works, and remembers when it was told of a head or of none. */
interface Fake extends HeadListener {
  rests: boolean;
  isListening: boolean;
  /** Since when it works and waits to be told anything. */
  waitsSinceMs: number | null;
  /** It was told that a newer head comes. */
  expectsNewSince: number | null;
}

async function run(seed: number, blockMs: number) {
  const random = createRandom(seed);
  let open = 0;
  const timersOf = ({ timers }: VirtualTime): Timers => ({
    after(ms, task) {
      open += 1;
      let isOver = false;
      const end = () => {
        if (!isOver) open -= 1;
        isOver = true;
      };
      const cancel = timers.after(ms, () => {
        end();
        task();
      });
      return () => {
        end();
        cancel();
      };
    },
  });
  const intervalMs = Math.min(4_000, Math.max(100, blockMs / 4));
  let running = 0;
  let isDown = false;
  let slowMs = 0;
  const { watcher, time, polls, end } = await createModelWatcher({
    blockMs,
    timersOf,
    async head(count, { timers }) {
      running += 1;
      assert.equal(running, 1, 'two polls at once');
      const [fails, ms] = [isDown || random.chance(0.05), random.chance(0.5) ? slowMs : 0];
      if (ms > 0) await new Promise<void>((resolve) => void timers.after(ms, resolve));
      running -= 1;
      if (fails) throw new Error('down');
      return blockNumbered(count);
    },
  });
  const now = () => time.clock.elapsedMs();
  const lanes: Fake[] = [];
  function add() {
    const lane: Fake = {
      rests: false,
      isListening: true,
      waitsSinceMs: now(),
      expectsNewSince: null,
      isResting: () => lane.rests,
      tick() {
        assert.ok(lane.isListening);
        lane.waitsSinceMs = null;
        lane.expectsNewSince = null;
        if (random.chance(0.3)) lane.rests = true;
        // It has work again at once, also while the others get the head.
        if (random.chance(0.02)) setImmediate(() => wake(lane));
      },
      unreachable() {
        lane.waitsSinceMs = null;
        lane.expectsNewSince = null;
      },
    };
    lanes.push(lane);
    watcher.listen(lane);
  }
  function wake(lane: Fake) {
    if (!lane.isListening) return;
    const wasResting = lane.rests;
    lane.rests = false;
    if (!wasResting) return;
    lane.waitsSinceMs = now();
    if (watcher.wake()) lane.expectsNewSince = now();
  }
  const startsAtMs = random.chance(0.5) ? 0 : 3_000;
  if (startsAtMs === 0) watcher.start();
  let isStarted = startsAtMs === 0;
  let longest = 0;
  for (let step = 0; step < 600; step += 1) {
    await time.pass(random.chance(0.5) ? 37 : 411);
    if (!isStarted && now() >= startsAtMs) {
      watcher.start();
      isStarted = true;
    }
    if (lanes.length < 3 || random.chance(0.02)) for (let more = random.chance(0.05) ? 120 : 1; more > 0; more -= 1) add();
    for (const lane of lanes) if (lane.isListening && random.chance(0.01)) wake(lane);
    if (random.chance(0.02)) {
      const lane = lanes[lanes.length - 1];
      if (lane !== undefined) {
        lane.isListening = false;
        watcher.stopListening(lane);
      }
    }
    if (random.chance(0.01)) isDown = !isDown;
    if (random.chance(0.05)) slowMs = random.chance(0.5) ? 0 : 2_500;
    if (!isStarted) continue;
    for (const lane of lanes) {
      if (!lane.isListening || lane.waitsSinceMs === null || lane.rests) continue;
      const waitedMs = now() - Math.max(lane.waitsSinceMs, startsAtMs);
      longest = Math.max(longest, waitedMs);
      // A poll that runs, then one more, and the step of the fuzz.
      assert.ok(waitedMs <= 2 * 2_500 + 2 * intervalMs + 500, `seed ${seed}: a lane waits for ${waitedMs} ms`);
      if (lane.expectsNewSince !== null) assert.ok(now() - lane.expectsNewSince <= 2_500 + 500, `seed ${seed}: no newer head came`);
    }
  }
  const stopping = watcher.stop();
  await time.pass(5_000);
  await stopping;
  assert.equal(open, 0, `seed ${seed}: a timer is left`);
  const before = polls();
  for (const lane of lanes) wake(lane);
  await time.pass(60_000);
  assert.equal(polls(), before, `seed ${seed}: it polls after its stop`);
  assert.equal(open, 0);
  await end();
  return longest;
}

describe('a watcher whose lanes rest, wake, come and go at random', () => {
  for (const blockMs of [250, 2_000, 12_000, 60_000])
    it(`tells each lane that works, polls once at a time, and leaves nothing: blocks of ${blockMs} ms`, async (test) => {
      let longest = 0;
      for (let seed = 1; seed <= 12; seed += 1) longest = Math.max(longest, await run(seed * 7 + blockMs, blockMs));
      test.diagnostic(`a lane waited at most ${longest} ms`);
    });
});

describe('the pace at rest', () => {
  for (const [name, networkType, blockMs] of [
    ['Solana', 'solana', 400],
    ['BNB', 'evm', 450],
    ['Arbitrum', 'evm', 250],
    ['OP stack', 'evm', 2_000],
    ['Ethereum', 'evm', 12_000],
    ['a minute', 'evm', 60_000],
  ] as const)
    it(`${name}: is at most one poll per second`, async (test) => {
      const { watcher, time, polls, end } = await createModelWatcher({ blockMs, networkType });
      test.after(end);
      watcher.start();
      await time.pass(10);
      const before = polls();
      await time.pass(360_000);
      const everyMs = 360_000 / (polls() - before);
      test.diagnostic(`one poll in ${Math.round(everyMs)} ms`);
      assert.ok(everyMs >= 1_000);
      assert.ok(everyMs <= Math.min(15_000, Math.max(1_000, blockMs)) * 1.01);
    });
});
