import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isoTimeText } from '../../src/observability/flat-line.js';

test('the time of a log line is what Date writes, in any order and before 1970', () => {
  const start = Date.UTC(2024, 1, 28, 23, 59, 57);
  const times = [0, 1, 9, 10, 99, 100, 999, 1_000, 9_999, 10_000, 59_999, 60_000].flatMap((ms) => [start + ms, ms, start - ms, -ms]);
  for (let ms = 0; ms < 6_000; ms += 1) times.push(start + ms);
  for (const ms of times) assert.equal(isoTimeText(ms), new Date(ms).toISOString());
});
