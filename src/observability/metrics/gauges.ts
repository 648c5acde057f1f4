import { setImmediate as nextTurn } from 'node:timers/promises';
import { type InstanceState, instanceStates } from '../../core/ports/instances.js';
import { type LeaseKind, leaseKinds } from '../../core/ports/leases.js';
import type { OldestSnapshot } from '../../core/ports/shared-database.js';
import { openStatuses, type TransactionStatus } from '../../core/records/transaction.js';
import { inTime } from '../../core/work/abort.js';
import { headText, labelsText, lineOf } from './series.js';

/** The figures of a relayer. */
export interface RelayerFigures {
  readonly relayerId: string;
  /** True if it is neither paused nor disabled. */
  readonly isActive: boolean;
  /** Open transactions without a signed attempt. */
  readonly waiting: number;
  /** Open transactions with a signed attempt. */
  readonly inFlight: number;
  /** How many with a nonce may be in flight now; null: transactions have none. */
  readonly inFlightLimit: number | null;
  /** The number of open transactions by status. */
  readonly open: ReadonlyMap<TransactionStatus, number>;
  /** When the oldest open transaction was accepted; null if none is open. */
  readonly oldestOpenMs: number | null;
  /** The balance that was read last, in the network's smallest unit; null: none was read yet. */
  readonly balance: bigint | null;
  /** For how long it lasts at the use of the last day; null: unknown, or nothing was spent. */
  readonly runwayMs: number | null;
}

/** The figures of a network. */
export interface NetworkFigures {
  readonly network: string;
  readonly isReachable: boolean;
  /** The number of RPC endpoints that are left out because they are on another branch of the chain. */
  readonly forkedEndpoints: number;
  /** It shows no new block for long. */
  readonly standsStill: boolean;
  /** The newest block seen; null before the first. */
  readonly head: { readonly number: bigint; readonly timestampMs: number } | null;
}

/** The figures of the instances on the database, and of the work that they share. */
export interface InstanceFigures {
  readonly states: readonly InstanceState[];
  /** The number of leases that this instance holds, by kind. */
  readonly heldLeases: ReadonlyMap<LeaseKind, number>;
  /** The number of leases that no instance holds, by kind. */
  readonly unheldLeases: ReadonlyMap<LeaseKind, number>;
  /** The database lacks commits that it had answered, so nothing is signed. */
  readonly isRewound: boolean;
  /** This instance signs nothing. */
  readonly isSigningHeld: boolean;
  /** The own clock minus the database's. */
  readonly clockSkewMs: number;
  /** The settings of PostgreSQL with which answered commits can get lost, by name. */
  readonly unsafeSettings: ReadonlyMap<string, boolean>;
  readonly oldestSnapshot: OldestSnapshot;
}

/** Whether the service works. */
export interface ReadinessFigures {
  readonly isReady: boolean;
  /** The store answers. */
  readonly isStoreUp: boolean;
}

/**
 * The figures of each scrape. They are in memory, except for the backlog, which the store counts up to a limit, and the readiness, which is
 * measured.
 */
export interface FigureSources {
  /** Each is measured when the walk comes to it. */
  relayers(): Iterable<RelayerFigures>;
  networks(): readonly NetworkFigures[];
  instances(): InstanceFigures;
  webhookBacklog(): Promise<number>;
  /** The size of the database's write-ahead log. */
  databaseLogBytes(): number;
  readiness(): Promise<ReadinessFigures>;
  /** When the TLS certificate in use expires; null: none is used. */
  certificateExpiryMs(): number | null;
}

/** How long a gauge may take to read: the store may hang, and a scrape has a time limit. */
const maxReadingMs = 2_000;

/** How many relayers are written in one turn of the event loop: a service may have ten thousand, and calls must not wait for a scrape. */
const relayersPerTurn = 100;

/** Returns the value of a gauge. One that fails or hangs has no value, so that the others still have theirs. */
async function readInTime<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await inTime(read(), maxReadingMs, null);
  } catch {
    return null;
  }
}

/** A gauge of each relayer or network. Figures that are null have no value. */
interface GaugeOf<Figures> {
  readonly name: string;
  readonly help: string;
  valueOf(figures: Figures, nowMs: number): number | null;
}

const relayerGauges: readonly GaugeOf<RelayerFigures>[] = [
  { name: 'relayer_lane_waiting', help: 'Open transactions without a signed attempt', valueOf: ({ waiting }) => waiting },
  { name: 'relayer_lane_in_flight', help: 'Open transactions with a signed attempt', valueOf: ({ inFlight }) => inFlight },
  {
    name: 'relayer_lane_in_flight_limit',
    help: 'Transactions that may be in flight now; no value on networks without nonces',
    valueOf: ({ inFlightLimit }) => inFlightLimit,
  },
  {
    name: 'relayer_oldest_open_seconds',
    help: 'Age of the oldest open transaction; 0 if there is none',
    valueOf: ({ oldestOpenMs }, nowMs) => (oldestOpenMs === null ? 0 : Math.max(0, nowMs - oldestOpenMs) / 1000),
  },
  {
    name: 'relayer_active',
    help: '1 if the relayer is active, 0 if it is paused or disabled',
    valueOf: ({ isActive }) => (isActive ? 1 : 0),
  },
  {
    name: 'relayer_balance',
    help: "Balance of the account as it was read last, in the network's smallest unit",
    valueOf: ({ balance }) => (balance === null ? null : Number(balance)),
  },
  {
    name: 'relayer_runway_seconds',
    help: 'How long the balance lasts at the use of the last day; no value if nothing was spent',
    valueOf: ({ runwayMs }) => (runwayMs === null ? null : runwayMs / 1000),
  },
];

const networkGauges: readonly GaugeOf<NetworkFigures>[] = [
  {
    name: 'relayer_network_reachable',
    help: '1 if at least one RPC node of the network answers, else 0',
    valueOf: ({ isReachable }) => (isReachable ? 1 : 0),
  },
  {
    name: 'relayer_network_forked_endpoints',
    help: 'RPC endpoints that are left out because they are on another branch of the chain',
    valueOf: ({ forkedEndpoints }) => forkedEndpoints,
  },
  {
    name: 'relayer_network_stands_still',
    help: '1 if the network shows no new block for a minute and for 20 block times, else 0',
    valueOf: ({ standsStill }) => (standsStill ? 1 : 0),
  },
  {
    name: 'relayer_head_block',
    help: 'Number of the newest block seen',
    valueOf: ({ head }) => (head === null ? null : Number(head.number)),
  },
  {
    name: 'relayer_head_age_seconds',
    help: 'Time since the timestamp of the newest block seen',
    valueOf: ({ head }, nowMs) => (head === null ? null : Math.max(0, nowMs - head.timestampMs) / 1000),
  },
];

/** Returns the gauges' text, with the values that they have now. */
export async function gaugesText(
  { relayers, networks, instances, webhookBacklog, databaseLogBytes, readiness, certificateExpiryMs }: FigureSources,
  nowMs: () => number,
): Promise<string> {
  const [backlog, state] = await Promise.all([readInTime(webhookBacklog), readInTime(readiness)]);
  const expiryMs = certificateExpiryMs();
  const openHead = headText('relayer_open_transactions', 'Open transactions by status', 'gauge');
  const texts = [openHead, ...relayerGauges.map(({ name, help }) => headText(name, help, 'gauge'))].map((head) => [head]);
  // A lane changes between two turns of the loop, but each relayer is written in one.
  let lines = texts.map((): string[] => []);
  // Each turn joins its own lines. Joining all of them at the end would take longer than any turn.
  const joinLines = () => {
    for (const [index, text] of texts.entries()) text.push(lines[index]?.join('') ?? '');
    lines = texts.map(() => []);
  };
  let written = 0;
  for (const figures of relayers()) {
    if (written > 0 && written % relayersPerTurn === 0) {
      joinLines();
      await nextTurn();
    }
    written += 1;
    const labels = labelsText(['relayer'], [figures.relayerId]);
    for (const status of openStatuses)
      lines[0]?.push(lineOf('relayer_open_transactions', `${labels},status="${status}"`, figures.open.get(status) ?? 0));
    addLines(lines, 1, relayerGauges, labels, figures, nowMs());
  }
  joinLines();
  const networkTexts = networkGauges.map(({ name, help }) => [headText(name, help, 'gauge')]);
  for (const figures of networks()) addLines(networkTexts, 0, networkGauges, labelsText(['network'], [figures.network]), figures, nowMs());
  const own = [
    gaugeText('relayer_webhook_backlog', 'Webhook events that wait for delivery, counted up to 100000', backlog),
    gaugeText('relayer_database_log_bytes', "Size of SQLite's write-ahead log; 0 on PostgreSQL", databaseLogBytes()),
    gaugeText('relayer_ready', '1 if this instance is ready, as /ready says, else 0', Number(state?.isReady ?? false)),
    gaugeText('relayer_store_up', '1 if the database answers this instance, else 0', Number(state?.isStoreUp ?? false)),
    gaugeText(
      'relayer_certificate_expiry_timestamp_seconds',
      'When the TLS certificate in use expires; no value without TLS',
      expiryMs === null ? null : expiryMs / 1_000,
    ),
  ];
  return [...[...texts, ...networkTexts].map((text) => text.join('')), ...instanceTexts(instances()), ...own].join('\n');
}

function instanceTexts({
  states,
  heldLeases,
  unheldLeases,
  isRewound,
  isSigningHeld,
  clockSkewMs,
  unsafeSettings,
  oldestSnapshot,
}: InstanceFigures): readonly string[] {
  const countOf = (state: InstanceState) => states.filter((one) => one === state).length;
  return [
    countsText('relayer_instances', 'Instances on the database by state, as this instance sees them', 'state', instanceStates, countOf),
    countsText('relayer_leases_held', 'Leases that this instance holds', 'kind', leaseKinds, (kind) => heldLeases.get(kind) ?? 0),
    countsText('relayer_leases_unheld', 'Leases that no instance holds', 'kind', leaseKinds, (kind) => unheldLeases.get(kind) ?? 0),
    gaugeText('relayer_database_rewound', '1: the database lacks commits that it had answered, so nothing is signed', Number(isRewound)),
    gaugeText('relayer_signing_held', '1: this instance signs nothing, as /ready says', Number(isSigningHeld)),
    gaugeText('relayer_clock_skew_seconds', "Own clock minus the database's; 0 on SQLite", clockSkewMs / 1_000),
    gaugeText(
      'relayer_database_oldest_snapshot_seconds',
      'Age of the oldest transaction that keeps PostgreSQL from removing dead rows',
      oldestSnapshot.ageMs / 1_000,
    ),
    gaugeText(
      'relayer_database_oldest_snapshot_transactions',
      'Transactions since the oldest row version that PostgreSQL must keep, also for a replication slot, a standby or a prepared transaction',
      oldestSnapshot.transactions,
    ),
    countsText(
      'relayer_database_setting_unsafe',
      '1: with this setting of PostgreSQL, commits that it answered can get lost',
      'setting',
      [...unsafeSettings.keys()],
      (name) => Number(unsafeSettings.get(name)),
    ),
  ];
}

/** The text of a gauge without labels; null: it has no value now. */
function gaugeText(name: string, help: string, value: number | null): string {
  return headText(name, help, 'gauge') + (value === null ? '' : lineOf(name, '', value));
}

/** The text of a gauge that has one value for each of these values of its label. */
function countsText<T extends string>(
  name: string,
  help: string,
  label: string,
  values: readonly T[],
  countOf: (value: T) => number,
): string {
  const lines = values.map((value) => lineOf(name, labelsText([label], [value]), countOf(value)));
  return headText(name, help, 'gauge') + lines.join('');
}

/** Adds a value of each gauge to its lines; the first gauge's lines are at `start`. */
function addLines<Figures>(
  lines: readonly string[][],
  start: number,
  gauges: readonly GaugeOf<Figures>[],
  labels: string,
  figures: Figures,
  nowMs: number,
): void {
  for (const [index, gauge] of gauges.entries()) {
    const value = gauge.valueOf(figures, nowMs);
    if (value !== null) lines[start + index]?.push(lineOf(gauge.name, labels, value));
  }
}
