import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, it } from 'node:test';
import { parse, stringify } from 'yaml';

const file = 'docs/prometheus/alerts.yml';
const skip = spawnSync('promtool', ['--version']).status === 0 ? false : 'skipped: promtool is not installed';

interface Rule {
  readonly alert: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: { readonly summary: string };
}

/** What happens, and when the alert is silent and fires, in minutes. */
interface Story {
  readonly what: string;
  readonly series: Readonly<Record<string, string>>;
  readonly silentAt: readonly number[];
  readonly firesAt: readonly number[];
  /** Labels of the alert besides those of the rule; none: `instance` and `job` of the scrapes. */
  readonly labels?: Readonly<Record<string, string>>;
  /** The value as its summary shows it. */
  readonly value?: string;
}

const scraped: Readonly<Record<string, string>> = { instance: 'a', job: 'relayer' };
/** A metric of one instance. */
const of = (name: string, labels = '') => `${name}{job="relayer",instance="a"${labels}}`;
/** Values of one series, once a minute, which change after ten minutes. */
const from = (before: number | string, then: number | string) => `${before}x9 ${then}x200`;
const pay = ',relayer="pay"';
const base = ',network="base"';

const stories: Readonly<Record<string, readonly Story[]>> = {
  RelayerDown: [{ what: 'an instance ends', series: { [of('up')]: from(1, 0) }, silentAt: [9, 11], firesAt: [12] }],
  RelayerNotReady: [{ what: 'an instance hangs', series: { [of('relayer_ready')]: from(1, 0) }, silentAt: [9, 11], firesAt: [12] }],
  RelayerStoreDown: [
    { what: 'the database is away, and nobody sends', series: { [of('relayer_store_up')]: from(1, 0) }, silentAt: [9, 10], firesAt: [11] },
  ],
  RelayerWorkUnheld: [
    {
      what: 'both instances are drained',
      series: {
        [of('relayer_leases_unheld', ',kind="lane"')]: from(0, 2),
        'relayer_leases_unheld{job="relayer",instance="b",kind="lane"}': from(0, 2),
      },
      silentAt: [9, 10],
      firesAt: [11],
      labels: { job: 'relayer', kind: 'lane' },
      value: '2',
    },
  ],
  RelayerDatabaseRewound: [
    {
      what: 'a standby without the last commits takes over',
      series: { [of('relayer_database_rewound')]: from(0, 1) },
      silentAt: [9],
      firesAt: [10],
      labels: { job: 'relayer' },
    },
  ],
  RelayerSigningHeld: [{ what: 'a clock is wrong', series: { [of('relayer_signing_held')]: from(0, 1) }, silentAt: [9], firesAt: [10] }],
  RelayerClockSkew: [
    { what: 'the clock is slow', series: { [of('relayer_clock_skew_seconds')]: from(-0.1, -3) }, silentAt: [9, 11], firesAt: [12] },
  ],
  RelayerDatabaseUnsafe: [
    {
      what: 'fsync is turned off',
      series: { [of('relayer_database_setting_unsafe', ',setting="fsync"')]: from(0, 1) },
      silentAt: [9, 19],
      firesAt: [20],
      labels: { job: 'relayer', setting: 'fsync' },
    },
  ],
  RelayerDatabaseSnapshotOld: [
    {
      what: 'a forgotten transaction',
      series: { [of('relayer_database_oldest_snapshot_seconds')]: '0+60x100' },
      silentAt: [60],
      firesAt: [61],
      labels: { job: 'relayer' },
    },
    {
      what: 'a replication slot that no standby uses',
      series: { [of('relayer_database_oldest_snapshot_transactions')]: '0+20000x100' },
      silentAt: [50],
      firesAt: [51],
      labels: { job: 'relayer' },
    },
  ],
  RelayerInstanceMissing: [
    {
      what: 'one of three does not come back',
      series: { [of('relayer_instances', ',state="sharing"')]: from(3, 2), [of('relayer_instances', ',state="draining"')]: '0x200' },
      silentAt: [9, 11],
      firesAt: [12, 18],
      labels: { job: 'relayer' },
    },
  ],
  RelayerCannotStore: [
    {
      what: 'the disk is full for a minute',
      series: { [of('relayer_commits_total', ',result="failed"')]: from(0, 3) },
      silentAt: [9],
      firesAt: [10, 14],
      labels: { ...scraped, result: 'failed' },
    },
  ],
  RelayerDisabled: [
    {
      what: 'its account is gone',
      series: { [of('relayer_active', pay)]: from(1, 0) },
      silentAt: [9, 14],
      firesAt: [15],
      labels: { ...scraped, relayer: 'pay' },
    },
  ],
  RelayerFundsLow: [
    {
      what: 'a balance that lasts eight hours, and then two',
      series: { [of('relayer_runway_seconds', pay)]: '28800-60x360' },
      silentAt: [100, 125],
      firesAt: [126],
      labels: { relayer: 'pay' },
      value: '5h 54m 0s',
    },
  ],
  RelayerTransactionsStuck: [
    {
      what: 'the price cap is below the market',
      series: { [of('relayer_oldest_open_seconds', pay)]: '0+60x100' },
      silentAt: [30, 35],
      firesAt: [36],
      labels: { ...scraped, relayer: 'pay' },
    },
  ],
  RelayerTransactionsDelayed: [
    {
      what: 'the first delay since the start',
      series: { [of('relayer_transaction_delays_total', pay)]: from(0, 1) },
      silentAt: [9, 14],
      firesAt: [15, 19],
      labels: { relayer: 'pay' },
    },
  ],
  RelayerTransactionsFail: [
    {
      what: 'a nightly batch of 500 that fail within a minute',
      series: {
        [of('relayer_transactions_total', `${pay},status="pending"`)]: from(0, 500),
        [of('relayer_transactions_total', `${pay},status="failed"`)]: from(0, 500),
      },
      silentAt: [9, 14],
      firesAt: [15, 39],
      labels: { relayer: 'pay' },
    },
    {
      what: 'a batch that fails two hours after it was accepted by another instance',
      series: {
        'relayer_transactions_total{job="relayer",instance="b",relayer="pay",status="pending"}': '0 500x200',
        [of('relayer_transactions_total', `${pay},status="failed"`)]: '0x119 500x80',
      },
      silentAt: [10, 119],
      firesAt: [125, 145],
      labels: { relayer: 'pay' },
    },
    {
      what: 'one of twenty fails',
      series: {
        [of('relayer_transactions_total', `${pay},status="pending"`)]: '0+20x100',
        [of('relayer_transactions_total', `${pay},status="failed"`)]: '0+1x100',
      },
      silentAt: [20, 60, 100],
      firesAt: [],
    },
  ],
  RelayerNetworkUnreachable: [
    {
      what: 'no node answers',
      series: { [of('relayer_network_reachable', base)]: from(1, 0) },
      silentAt: [9, 14],
      firesAt: [15],
      labels: { ...scraped, network: 'base' },
    },
  ],
  RelayerNetworkStandsStill: [
    {
      what: 'the sequencer stops',
      series: { [of('relayer_network_stands_still', base)]: from(0, 1) },
      silentAt: [9, 10],
      firesAt: [11],
      labels: { ...scraped, network: 'base' },
    },
  ],
  RelayerHeadStale: [
    {
      what: 'the nodes are behind',
      series: { [of('relayer_head_age_seconds', base)]: from(2, 600) },
      silentAt: [9, 14],
      firesAt: [15],
      labels: { ...scraped, network: 'base' },
      value: '10m 0s',
    },
  ],
  RelayerNetworkForked: [
    {
      what: 'a node is on another branch',
      series: { [of('relayer_network_forked_endpoints', base)]: from(0, 1) },
      silentAt: [9, 10],
      firesAt: [11],
      labels: { ...scraped, network: 'base' },
    },
  ],
  RelayerErrors: [
    {
      what: 'each of three calls a minute fails',
      series: {
        [of('relayer_calls_total', ',result="ok"')]: '0x209',
        [of('relayer_calls_total', ',result="failed"')]: '0x9 3+3x200',
      },
      silentAt: [9, 19],
      firesAt: [20, 100],
      labels: {},
    },
    {
      what: 'all calls of one minute fail',
      series: {
        [of('relayer_calls_total', ',result="ok"')]: '0x200',
        [of('relayer_calls_total', ',result="failed"')]: '0x30 50x170',
      },
      silentAt: [31, 45, 100],
      firesAt: [],
    },
  ],
  RelayerCertificateExpires: [
    {
      what: 'nothing renews it',
      series: { [of('relayer_certificate_expiry_timestamp_seconds')]: `${7 * 86_400 + 600}x200` },
      silentAt: [9, 20],
      firesAt: [21],
      value: '6d 23h 49m 0s',
    },
  ],
  RelayerSlow: [
    {
      what: 'each call takes between 2.5 and 5 s',
      series: {
        [of('relayer_request_duration_seconds_bucket', ',le="2.5",result="ok",protocol="rest"')]: '0x200',
        [of('relayer_request_duration_seconds_bucket', ',le="5",result="ok",protocol="rest"')]: '0x9 0+60x200',
        [of('relayer_request_duration_seconds_bucket', ',le="+Inf",result="ok",protocol="rest"')]: '0x9 0+60x200',
        [of('relayer_request_duration_seconds_bucket', ',le="0.001",result="ok",protocol="http"')]: '0+600x200',
      },
      silentAt: [9, 19],
      firesAt: [22],
      labels: {},
    },
  ],
  RelayerWebhooksBehind: [
    {
      what: 'the receiver is down',
      series: { [of('relayer_webhook_backlog')]: from(3, 20_000) },
      silentAt: [9, 24],
      firesAt: [25],
      labels: { job: 'relayer' },
    },
  ],
  RelayerWebhooksDead: [
    {
      what: 'a receiver was down for a day',
      series: { [of('relayer_webhook_tries_total', ',outcome="dead"')]: from(0, 1) },
      silentAt: [9],
      firesAt: [10, 60],
      labels: { ...scraped, outcome: 'dead' },
    },
  ],
  RelayerEventLoopBlocked: [
    { what: 'too many calls', series: { [of('nodejs_eventloop_lag_p99_seconds')]: from(0.03, 0.9) }, silentAt: [9, 14], firesAt: [15] },
  ],
  RelayerLogWaiting: [
    { what: 'the collector hangs', series: { [of('relayer_log_waiting_bytes')]: from(0, 2e6) }, silentAt: [9, 11], firesAt: [12] },
  ],
  RelayerLogLinesLost: [
    { what: 'the collector still hangs', series: { [of('relayer_log_lines_lost_total')]: from(0, 1) }, silentAt: [9], firesAt: [10, 14] },
  ],
  RelayerAuditFailing: [
    { what: 'its disk is full', series: { [of('relayer_audit_failing')]: from(0, 1) }, silentAt: [9], firesAt: [10] },
    { what: 'lines were lost', series: { [of('relayer_audit_lines_lost_total')]: from(0, 1) }, silentAt: [9], firesAt: [10, 14] },
  ],
  RelayerDatabaseLogGrows: [
    {
      what: 'a backup keeps a read transaction open',
      series: { [of('relayer_database_log_bytes')]: from(1e6, 2e9) },
      silentAt: [9, 19],
      firesAt: [20],
    },
  ],
};

/** The tests of promtool for the stories of a rule. */
function testsOf({ alert, labels: ownLabels, annotations }: Rule): readonly object[] {
  return (stories[alert] ?? []).map(({ what, series, silentAt, firesAt, labels = scraped, value = '' }) => {
    const summary = annotations.summary
      .replace(/\{\{ \$labels\.(\w+) \}\}/g, (_, name: string) => labels[name] ?? `no label ${name}`)
      .replace(/\{\{ \$value[^}]*\}\}/g, value);
    const fired = [{ exp_labels: { ...labels, ...ownLabels }, exp_annotations: { summary } }];
    return {
      name: `${alert}: ${what}`,
      interval: '1m',
      input_series: Object.entries(series).map(([one, values]) => ({ series: one, values })),
      alert_rule_test: [
        ...silentAt.map((minute) => ({ eval_time: `${minute}m`, alertname: alert, exp_alerts: [] })),
        ...firesAt.map((minute) => ({ eval_time: `${minute}m`, alertname: alert, exp_alerts: fired })),
      ],
    };
  });
}

describe(file, async () => {
  const rules: readonly Rule[] = parse(await readFile(file, 'utf8')).groups.flatMap(({ rules }: { rules: readonly Rule[] }) => rules);

  it('alerts: each rule has a story in which it fires, and one in which it is silent, and operations.md says what to do', async () => {
    const page = await readFile('docs/operations.md', 'utf8');
    assert.deepEqual(
      Object.keys(stories),
      rules.map(({ alert }) => alert),
    );
    for (const [alert, its] of Object.entries(stories)) {
      assert.ok(its.some(({ firesAt }) => firesAt.length > 0) && its.every(({ silentAt }) => silentAt.length > 0), alert);
      assert.ok(page.includes(`\`${alert}\``), `operations.md lacks ${alert}`);
    }
  });

  for (const rule of rules)
    it(`alerts: ${rule.alert} fires and is silent as its stories say`, { skip }, async (test) => {
      const dir = await mkdtemp(join(tmpdir(), 'relayer-alerts-'));
      test.after(() => rm(dir, { recursive: true }));
      const path = join(dir, 'stories.yml');
      await writeFile(path, stringify({ rule_files: [resolve(file)], evaluation_interval: '1m', tests: testsOf(rule) }));
      const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', path], { encoding: 'utf8' });
      assert.equal(status, 0, stdout + stderr);
    });
});
