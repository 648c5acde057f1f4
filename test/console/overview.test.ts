import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { NetworkOverviewSchema, RelayerOverviewSchema, WatchOverviewResponseSchema } from '../../gen/relayer/v1/overview_service_pb.js';
import { byUrgency, concernOf, matchesFilter } from '../../src/console/model/concerns.js';
import { emptyOverview, mergeOverview } from '../../src/console/model/overview-state.js';
import { condensed, nearestIndex, roundTop } from '../../src/console/model/series.js';

const nowMs = 1_800_000_000_000;
const secondsAgo = (seconds: number) => ({ seconds: BigInt(nowMs / 1_000 - seconds), nanos: 0 });
const relayer = (values: Parameters<typeof create<typeof RelayerOverviewSchema>>[1]) => create(RelayerOverviewSchema, values);
const network = create(NetworkOverviewSchema, { id: 'evm:mainnet', averageBlockTime: { seconds: 12n, nanos: 0 } });

describe('console: state of the overview', () => {
  it('applies differences, and keeps what has not changed as the same object', () => {
    const first = mergeOverview(
      emptyOverview,
      create(WatchOverviewResponseSchema, { relayers: [{ id: 'a' }, { id: 'b' }], networks: [{ id: 'evm:x' }], webhookBacklog: 3 }),
    );
    assert.equal(first.isComplete, false);
    const second = mergeOverview(
      first,
      create(WatchOverviewResponseSchema, { relayers: [{ id: 'b', waiting: 2 }], removedRelayerIds: ['a'], snapshotComplete: true }),
    );
    assert.deepEqual([...second.relayers.keys()], ['b']);
    assert.equal(second.relayers.get('b')?.waiting, 2);
    assert.equal(second.networks, first.networks);
    assert.equal(second.webhookBacklog, 3);
    const third = mergeOverview(second, create(WatchOverviewResponseSchema, {}));
    assert.equal(third.relayers, second.relayers);
    assert.equal(third.isComplete, true);
  });

  it('keeps a day of samples', () => {
    const sample = (hoursAgo: number) => ({ at: secondsAgo(hoursAgo * 3_600) });
    const first = mergeOverview(emptyOverview, create(WatchOverviewResponseSchema, { samples: [sample(25), sample(23)] }));
    const second = mergeOverview(first, create(WatchOverviewResponseSchema, { samples: [sample(0)] }));
    assert.equal(second.samples.length, 2);
  });
});

describe('console: what is wrong with a relayer', () => {
  it('nothing is wrong with one whose transactions move', () => {
    const found = concernOf(relayer({ id: 'a', inFlight: 3, oldestOpenAt: secondsAgo(30) }), network, nowMs);
    assert.deepEqual([found.urgency, found.reasons], [0, []]);
  });

  it('an old open transaction becomes more urgent with its age, by the blocks of its network', () => {
    const of = (seconds: number) => concernOf(relayer({ id: 'a', inFlight: 1, oldestOpenAt: secondsAgo(seconds) }), network, nowMs).urgency;
    assert.deepEqual([of(110), of(130), of(590), of(610)], [0, 2, 2, 3]);
  });

  it('an obstacle is a concern at once, unless the relayer is paused', () => {
    const of = (paused: boolean) => concernOf(relayer({ id: 'a', paused, inFlight: 1, heldUp: true }), network, nowMs).reasons;
    assert.deepEqual([of(false), of(true)], [['held up'], ['paused']]);
  });

  it('the worst reason stands first', () => {
    const found = concernOf(relayer({ id: 'a', paused: true, waiting: 1, lowBalance: true }), network, nowMs);
    assert.deepEqual([found.urgency, found.reasons], [3, ['balance is below min_balance', 'paused, and transactions wait']]);
  });

  it('a balance that lasts less than a day is a concern', () => {
    const of = (hours: number) =>
      concernOf(relayer({ id: 'a', balanceLasts: { seconds: BigInt(hours * 3_600), nanos: 0 } }), network, nowMs).urgency;
    assert.deepEqual([of(5), of(20), of(30)], [3, 2, 0]);
  });

  it('orders by urgency, then by the age of the oldest transaction, then by name', () => {
    const rows = [
      relayer({ id: '1', name: 'b' }),
      relayer({ id: '2', name: 'a' }),
      relayer({ id: '3', name: 'c', inFlight: 1, oldestOpenAt: secondsAgo(5) }),
      relayer({ id: '4', name: 'd', disabledReason: 'wrong chain' }),
    ];
    const ordered = rows.map((row) => concernOf(row, network, nowMs)).sort(byUrgency);
    assert.deepEqual(
      ordered.map((concern) => concern.relayer.id),
      ['4', '3', '2', '1'],
    );
  });

  it('filter: every word must match', () => {
    const row = relayer({ id: 'pay-1', name: 'Payouts', address: '0xAbC', network: 'sepolia' });
    assert.deepEqual(
      ['pay', 'SEPOLIA pay', '0xabc', 'mainnet', 'pay mainnet'].map((filter) => matchesFilter(row, filter)),
      [true, true, true, false, false],
    );
  });
});

describe('console: small charts', () => {
  const points = Array.from({ length: 1_440 }, (_, index) => ({ atMs: index, value: index === 700 ? 9 : 1 }));

  it('keeps the peak of a level and the sum of a count', () => {
    assert.ok(condensed(points, 'highest').some(({ value }) => value === 9));
    const total = condensed(points, 'sum').reduce((sum, { value }) => sum + value, 0);
    assert.equal(total, 1_448);
    assert.ok(condensed(points, 'sum').length <= 144);
  });

  it('finds the nearest point, and a round top', () => {
    assert.equal(nearestIndex(points, 12.4), 12);
    assert.equal(nearestIndex([], 1), -1);
    assert.deepEqual([0, 1, 3, 70, 1_001].map(roundTop), [1, 1, 5, 100, 2_000]);
  });
});
