import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { shareOf as shareOfCounts } from '../../../src/engine/leases/share-out.js';

/** Who holds which unit; null: no one. */
interface Held {
  readonly members: readonly number[];
  readonly holders: ReadonlyMap<string, number | null>;
}

function shareOf(member: number, { members, holders }: Held): number {
  const held = new Map<number, number>();
  for (const holder of holders.values()) if (holder !== null) held.set(holder, (held.get(holder) ?? 0) + 1);
  return shareOfCounts(member, { members, count: holders.size, held });
}

/** The instances that may hold units, and units that they, one that is gone, or no one holds. */
const shares: fc.Arbitrary<Held> = fc
  .tuple(fc.uniqueArray(fc.integer({ min: 2, max: 50 }), { minLength: 1, maxLength: 6 }), fc.array(fc.nat(7), { maxLength: 40 }))
  .map(([members, holders]) => ({
    members,
    holders: new Map(holders.map((index, unit) => [String(unit), index === 7 ? 99 : (members[index] ?? null)])),
  }));

function heldBy(number: number, { holders }: Held): number {
  return [...holders.values()].filter((holder) => holder === number).length;
}

describe('the share of an instance', () => {
  it('all shares together are all units, and no two differ by more than one', () => {
    fc.assert(
      fc.property(shares, (seen) => {
        const all = seen.members.map((member) => shareOf(member, seen));
        assert.equal(
          all.reduce((sum, share) => sum + share, 0),
          seen.holders.size,
        );
        assert.ok(Math.max(...all) - Math.min(...all) <= 1);
      }),
    );
  });

  it('is the same whichever order an instance has read the state in', () => {
    fc.assert(
      fc.property(shares, (seen) => {
        const otherOrder = { members: seen.members.toReversed(), holders: new Map([...seen.holders].reverse()) };
        for (const member of seen.members) assert.equal(shareOf(member, otherOrder), shareOf(member, seen));
      }),
    );
  });

  it('moves no more units than any balanced division must', () => {
    fc.assert(
      fc.property(shares, (seen) => {
        const moved = seen.members.reduce((sum, member) => sum + Math.max(0, heldBy(member, seen) - shareOf(member, seen)), 0);
        const each = Math.floor(seen.holders.size / seen.members.length);
        const left = seen.holders.size % seen.members.length;
        // The surplus of all over the smaller share, less one unit for each larger share that some instance can keep.
        const held = seen.members.map((member) => heldBy(member, seen));
        const surplus = held.reduce((sum, count) => sum + Math.max(0, count - each), 0);
        const kept = Math.min(left, held.filter((count) => count > each).length);
        assert.equal(moved, surplus - kept);
      }),
    );
  });

  it('is nothing for an instance that may hold none', () => {
    assert.equal(shareOf(4, { members: [2, 3], holders: new Map([['a', 4]]) }), 0);
  });

  it('settles: instances that follow their shares one after another move nothing more', () => {
    fc.assert(
      fc.property(shares, (seen) => {
        // A unit of an instance that is gone becomes free first.
        const holders = new Map(
          [...seen.holders].map(([unit, holder]) => [unit, holder !== null && seen.members.includes(holder) ? holder : null]),
        );
        const { members } = seen;
        for (let round = 0; round < 3; round += 1) {
          for (const member of members) {
            const share = shareOf(member, { members, holders });
            const mine = [...holders].filter(([, holder]) => holder === member).map(([unit]) => unit);
            for (const unit of mine.slice(share)) holders.set(unit, null);
            const free = [...holders].filter(([, holder]) => holder === null).map(([unit]) => unit);
            for (const unit of free.slice(0, Math.max(0, share - mine.length))) holders.set(unit, member);
          }
        }
        for (const member of members) assert.equal(heldBy(member, { members, holders }), shareOf(member, { members, holders }));
      }),
    );
  });
});
