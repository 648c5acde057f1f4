import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createIds, systemIds } from '../../../src/core/records/ids.js';

const v7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const v4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

function timeOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

function assertGrowing(ids: readonly string[]): void {
  assert.ok(ids.every((id) => v7.test(id)));
  assert.deepEqual([...ids].sort(), ids);
  assert.equal(new Set(ids).size, ids.length);
}

describe('ids', () => {
  test('time-ordered ids: are UUIDs of version 7 that contain the time', () => {
    const id = createIds({ nowMs: () => 0x0123456789ab }).timeOrdered();
    assert.match(id, v7);
    assert.ok(id.startsWith('01234567-89ab-7'));
  });

  test('time-ordered ids: grow with the system clock', () => {
    const beforeMs = Date.now();
    const ids = Array.from({ length: 20_000 }, () => systemIds.timeOrdered());
    assertGrowing(ids);
    assert.ok(ids.every((id) => timeOf(id) >= beforeMs));
  });

  test('time-ordered ids: grow within one millisecond, past the counter’s limit', () => {
    const ids = createIds({ nowMs: () => 1_763_600_000_000 });
    const made = Array.from({ length: 10_000 }, () => ids.timeOrdered());
    assertGrowing(made);
    // The counter has 4096 values, and starts in its lower half.
    assert.ok(timeOf(made.at(-1) ?? '') - 1_763_600_000_000 <= 10_000 / 2_048);
  });

  test('time-ordered ids: grow when the clock goes back, and follow it again after it catches up', () => {
    let nowMs = 2_000;
    const ids = createIds({ nowMs: () => nowMs });
    const made = [2_000, 1_000, 1_500, 2_000, 2_001, 3_000].map((time) => {
      nowMs = time;
      return ids.timeOrdered();
    });
    assertGrowing(made);
    assert.deepEqual(made.map(timeOf), [2_000, 2_000, 2_000, 2_000, 2_001, 3_000]);
  });

  test('random ids: are distinct UUIDs of version 4', () => {
    const made = Array.from({ length: 1_000 }, () => systemIds.random());
    assert.ok(made.every((id) => v4.test(id)));
    assert.equal(new Set(made).size, made.length);
  });
});
