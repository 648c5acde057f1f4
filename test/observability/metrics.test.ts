import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemClock } from '../../src/core/work/clock.js';
import { healthWithoutFile } from '../../src/core/work/log.js';
import { createMetrics } from '../../src/observability/metrics/metrics.js';

const network = { network: 'local', isReachable: true, forkedEndpoints: 0, standsStill: false, head: null };

const noInstances = {
  states: [],
  heldLeases: new Map(),
  unheldLeases: new Map(),
  isRewound: false,
  isSigningHeld: false,
  clockSkewMs: 0,
  oldestSnapshot: { ageMs: 0, transactions: 0 },
  unsafeSettings: new Map(),
};

const own = {
  webhookBacklog: async () => 0,
  databaseLogBytes: () => 0,
  readiness: async () => ({ isReady: true, isStoreUp: true }),
  certificateExpiryMs: () => null,
};

const idle = { isActive: true, waiting: 0, inFlight: 0, inFlightLimit: null, open: new Map(), oldestOpenMs: null };

describe('metrics of instances', () => {
  it('metrics: every state and every kind of lease has a value, also 0', async () => {
    const metrics = createMetrics({ version: '1', clock: systemClock, audit: healthWithoutFile });
    metrics.show({
      relayers: () => [],
      networks: () => [],
      instances: () => ({
        states: ['sharing', 'draining', 'sharing'],
        heldLeases: new Map([['lane', 7] as const]),
        unheldLeases: new Map([['notification', 2] as const]),
        isRewound: true,
        isSigningHeld: true,
        clockSkewMs: -1_500,
        oldestSnapshot: { ageMs: 90_000, transactions: 17 },
        unsafeSettings: new Map([['fsync', true] as const, ['full_page_writes', false] as const]),
      }),
      ...own,
    });
    const lines = (await metrics.text())
      .split('\n')
      .filter((line) => /^relayer_(instances|leases|database_(rewound|setting|oldest)|signing|clock)/.test(line));
    assert.deepEqual(lines, [
      'relayer_instances{state="starting"} 0',
      'relayer_instances{state="sharing"} 2',
      'relayer_instances{state="draining"} 1',
      'relayer_leases_held{kind="lane"} 7',
      'relayer_leases_held{kind="notification"} 0',
      'relayer_leases_held{kind="housekeeping"} 0',
      'relayer_leases_unheld{kind="lane"} 0',
      'relayer_leases_unheld{kind="notification"} 2',
      'relayer_leases_unheld{kind="housekeeping"} 0',
      'relayer_database_rewound 1',
      'relayer_signing_held 1',
      'relayer_clock_skew_seconds -1.5',
      'relayer_database_oldest_snapshot_seconds 90',
      'relayer_database_oldest_snapshot_transactions 17',
      'relayer_database_setting_unsafe{setting="fsync"} 1',
      'relayer_database_setting_unsafe{setting="full_page_writes"} 0',
    ]);
  });
});

describe('metrics that alerts compare', () => {
  const sources = { relayers: () => [], networks: () => [], instances: () => noInstances, ...own };

  it('metrics: a relayer has its balance, and counts of zero, from its first scrape', async () => {
    const metrics = createMetrics({ version: '1', clock: systemClock, audit: healthWithoutFile });
    const pay = { ...idle, relayerId: 'pay', balance: 5n * 10n ** 18n, runwayMs: 7_200_000 };
    metrics.show({ ...sources, relayers: () => [pay, { ...idle, relayerId: 'new', balance: null, runwayMs: null }] });
    const scrape = async () => (await metrics.text()).split('\n').filter((line) => /^relayer_(balance|runway|trans)/.test(line));
    const counts = (relayer: string, pending: number) => [
      `relayer_transactions_total{relayer="${relayer}",status="pending"} ${pending}`,
      `relayer_transactions_total{relayer="${relayer}",status="failed"} 0`,
    ];
    const delays = ['pay', 'new'].map((relayer) => `relayer_transaction_delays_total{relayer="${relayer}"} 0`);
    const funds = ['relayer_balance{relayer="pay"} 5000000000000000000', 'relayer_runway_seconds{relayer="pay"} 7200'];
    assert.deepEqual(await scrape(), [...counts('pay', 0), ...counts('new', 0), ...delays, ...funds]);
    metrics.meter.statusReached('pay', 'pending');
    assert.deepEqual(await scrape(), [...counts('pay', 1), ...counts('new', 0), ...delays, ...funds]);
  });

  for (const [state, readiness, ready, up] of [
    ['works', async () => ({ isReady: true, isStoreUp: true }), 1, 1],
    ['is stopping', async () => ({ isReady: false, isStoreUp: true }), 0, 1],
    ['has no database', async () => ({ isReady: false, isStoreUp: false }), 0, 0],
    ['hangs', () => new Promise<never>(() => {}), 0, 0],
  ] as const) {
    it(`metrics: an instance that ${state} has relayer_ready ${ready} and relayer_store_up ${up}`, async () => {
      const metrics = createMetrics({ version: '1', clock: systemClock, audit: healthWithoutFile });
      metrics.show({ ...sources, readiness, certificateExpiryMs: () => 1_900_000_000_500 });
      const lines = (await metrics.text()).split('\n').filter((line) => /^relayer_(ready|store_up|certificate)/.test(line));
      assert.deepEqual(lines, [
        `relayer_ready ${ready}`,
        `relayer_store_up ${up}`,
        'relayer_certificate_expiry_timestamp_seconds 1900000000.5',
      ]);
    });
  }
});

describe('metrics with a gauge that cannot be read', () => {
  for (const [how, webhookBacklog] of [
    ['fails', () => Promise.reject(new Error('no such table: events'))],
    ['hangs', () => new Promise<number>(() => {})],
  ] as const) {
    it(`metrics: if one gauge ${how}, it has no value and all others have theirs`, async () => {
      const metrics = createMetrics({ version: '1', clock: systemClock, audit: healthWithoutFile });
      metrics.show({
        relayers: () => [],
        networks: () => [network],
        instances: () => noInstances,
        ...own,
        webhookBacklog,
      });
      const text = await metrics.text();
      assert.match(text, /^relayer_network_reachable\{network="local"\} 1$/m);
      assert.match(text, /^relayer_build_info/m);
      assert.doesNotMatch(text, /^relayer_webhook_backlog \d/m);
    });
  }
});

describe('metrics of many relayers', () => {
  it('metrics: a scrape writes at most 100 relayers in one turn of the event loop, and all of them', async () => {
    const ids = Array.from({ length: 1_050 }, (_, index) => `r${index}`);
    let turn = 0;
    let counting: NodeJS.Immediate;
    const countTurns = (): void => {
      turn += 1;
      counting = setImmediate(countTurns);
    };
    countTurns();
    const writtenInTurn = new Map<number, number>();
    const metrics = createMetrics({ version: '1', clock: systemClock, audit: healthWithoutFile });
    metrics.show({
      *relayers() {
        for (const relayerId of ids) {
          writtenInTurn.set(turn, (writtenInTurn.get(turn) ?? 0) + 1);
          yield { ...idle, relayerId, balance: null, runwayMs: null };
        }
      },
      networks: () => [network],
      instances: () => noInstances,
      ...own,
    });
    const text = await metrics.text().finally(() => clearImmediate(counting));
    // The walk takes the next relayer before it ends a turn.
    assert.ok(Math.max(...writtenInTurn.values()) <= 101, [...writtenInTurn.values()].join());
    for (const name of ['relayer_active', 'relayer_lane_waiting'])
      assert.deepEqual(
        [...text.matchAll(new RegExp(`^${name}\\{relayer="(.*)"\\}`, 'gm'))].map(([, id]) => id),
        ids,
      );
  });
});
