import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Reservation, ReservedSpend } from '../../../src/core/ports/store/spending.js';
import { beyondHeld, firstReservation, heldIn, spendsOf, withContent } from '../../../src/core/rules/reservation.js';
import { runs } from '../../support/runs.js';

const windows = ['a', 'b'];
const amount = fc.bigInt({ min: 1n, max: 9n });
const spends = fc.uniqueArray(
  fc.oneof(
    fc.record({ window: fc.constantFrom(...windows), amount }),
    fc.record({ window: fc.constantFrom(...windows), amount, onSuccess: fc.constantFrom(0n, 1n) }),
  ),
  { selector: ({ window }) => window },
);
/** A fee bump of what a transaction has, or new content: in place, or with an attempt. */
const step = fc.oneof(fc.constant('bump' as const), fc.record({ spends, isSigned: fc.boolean() }));

describe('the reservation of a transaction', () => {
  it('holds the greatest amount of what can be paid, and counts what the winner pays', () => {
    fc.assert(
      fc.property(orNone(spends), fc.array(step, { maxLength: 30 }), fc.nat(40), (first, steps, nth) => {
        let reserved: Reservation | undefined = first.length === 0 ? undefined : firstReservation(first);
        /** What each attempt pays, and each content that may still be signed. */
        const attempts: (readonly ReservedSpend[])[] = [];
        let current = first;
        for (const one of steps) {
          if (one !== 'bump') {
            const fromVersion = attempts.length + 1;
            const more = beyondHeld(reserved, one.spends);
            assert.ok(more.every(({ amount }) => amount > 0n));
            if (reserved !== undefined || one.spends.length > 0)
              reserved = withContent(reserved, { fromVersion, spends: one.spends }, more);
            current = one.spends;
          }
          if (one === 'bump' || one.isSigned) attempts.push(current);
          for (const window of windows) {
            const needed = [...attempts, current]
              .map((each) => heldIn(each, window))
              .reduce((most, each) => (each > most ? each : most), 0n);
            assert.ok(heldIn(reserved?.held ?? [], window) >= needed, 'enough is held');
          }
        }
        const version = (nth % Math.max(1, attempts.length)) + 1;
        const paid = attempts[version - 1];
        if (reserved === undefined || paid === undefined) return;
        assert.ok(
          reserved.held.every((one) => !('onSuccess' in one)),
          'what is held is held as a whole',
        );
        for (const window of windows) {
          const counted = heldIn(spendsOf(reserved, version) ?? reserved.held, window);
          assert.ok(counted <= heldIn(reserved.held, window));
          assert.ok(counted >= heldIn(paid, window), 'never less than what was paid');
          if (reserved.contents.length < 16) assert.equal(counted, heldIn(paid, window));
        }
      }),
      { numRuns: runs(2_000) },
    );
  });
});

function orNone(some: fc.Arbitrary<readonly ReservedSpend[]>): fc.Arbitrary<readonly ReservedSpend[]> {
  return fc.oneof(fc.constant([]), some);
}
