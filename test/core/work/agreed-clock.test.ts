import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createAgreedClock } from '../../../src/core/work/clock.js';

const rightMs = 1_800_000_000_000;
const blockMs = rightMs - 12_000;
const hourMs = 3_600_000;

for (const [name, ownMs, databaseMs, heads, expected] of [
  ['the own clock is ahead', rightMs + hourMs, rightMs, [blockMs], rightMs],
  ['the own clock is behind', rightMs - hourMs, rightMs, [blockMs], blockMs],
  ["the database's clock is ahead", rightMs, rightMs + hourMs, [blockMs], rightMs],
  ["the database's clock is behind", rightMs, rightMs - hourMs, [blockMs], blockMs],
  ['a block is from the future', rightMs, rightMs - 5, [blockMs, rightMs + hourMs], rightMs],
  ['there is no block', rightMs + hourMs, rightMs, [], rightMs],
  ['there is only the own clock', rightMs, null, [blockMs - hourMs], rightMs],
] as const)
  it(`agreed clock: one wrong clock does not move it (${name})`, () => {
    const clock = createAgreedClock({ nowMs: () => ownMs }, { databaseMs: () => databaseMs, headTimesMs: () => heads });
    assert.equal(clock.nowMs(), expected);
  });
