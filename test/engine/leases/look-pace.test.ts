import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Member } from '../../../src/core/ports/shared-database.js';
import { lookPaceMs } from '../../../src/engine/leases/look-pace.js';
import { noFiles } from '../../support/no-files.js';

const timeMs = 100_000;

function members(count: number, last: Partial<Member> & { readonly seenAtMs?: number | null } = {}): readonly Member[] {
  const { seenAtMs = timeMs - 900, ...changed } = last;
  return Array.from({ length: count }, (_, index) => {
    const number = 10 + index;
    const isLast = index === count - 1;
    return {
      number,
      shown: {
        id: String(number),
        version: '1',
        host: 'h',
        pid: 1,
        state: 'sharing',
        sinceMs: 0,
        seenAtMs: isLast ? seenAtMs : timeMs,
      },
      files: noFiles,
      backend: null,
      state: 'sharing',
      isConnected: true,
      beat: null,
      isBusy: false,
      timeline: 1,
      isSynchronous: true,
      ...(isLast ? changed : {}),
    };
  });
}

it('three of many instances look often, the others seldom', () => {
  const pace = (count: number) => members(count).map(({ number }) => lookPaceMs({ me: number, members: members(count), timeMs }));
  assert.deepEqual(pace(1), [1_000]);
  assert.deepEqual(pace(3), [250, 250, 250]);
  assert.deepEqual(pace(6), [250, 250, 250, 2_000, 2_000, 2_000]);
  const perSecond = pace(30).reduce((sum, ms) => sum + 1_000 / ms, 0);
  assert.ok(perSecond <= 26, `${perSecond} looks a second of 30 instances`);
});

it('an instance looks often while another one may be gone', () => {
  const pace = (last: Parameters<typeof members>[1]) => lookPaceMs({ me: 14, members: members(6, last), timeMs });
  assert.equal(pace({ seenAtMs: timeMs - 2_000 }), 2_000);
  assert.equal(pace({ seenAtMs: timeMs - 2_001 }), 250);
  assert.equal(pace({ seenAtMs: timeMs - 2_001, isBusy: true }), 2_000);
  assert.equal(pace({ seenAtMs: null }), 2_000);
  assert.equal(pace({ seenAtMs: null, isConnected: false }), 250);
});
