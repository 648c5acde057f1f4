import { Gauge, type Registry } from 'prom-client';
import { openStatuses, type TransactionStatus } from '../../core/transaction/transaction.js';

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
}

/** The figures of a network. */
export interface NetworkFigures {
  readonly network: string;
  readonly isReachable: boolean;
  /** The number of RPC endpoints that are left out because they are on another branch of the chain. */
  readonly forkedEndpoints: number;
  /** The newest block seen; null before the first. */
  readonly head: { readonly number: bigint; readonly timestampMs: number } | null;
}

/** The figures of each scrape. They are in memory, except for the backlog, which the store counts up to a limit. */
export interface FigureSources {
  relayers(): readonly RelayerFigures[];
  networks(): readonly NetworkFigures[];
  webhookBacklog(): Promise<number>;
  /** The size of the database's write-ahead log. */
  databaseLogBytes(): number;
}

/** The values of a gauge by their labels. */
type Shown = readonly (readonly [labels: Record<string, string>, value: number])[];

/** How long a gauge may take to read: the store may hang, and a scrape has a time limit. */
const maxReadingMs = 2_000;

/** Reads a gauge. One that fails or hangs has no values, so that the others still have theirs. */
async function readInTime(shown: () => Shown | Promise<Shown>): Promise<Shown> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Shown>((resolve) => {
    timer = setTimeout(() => resolve([]), maxReadingMs);
  });
  try {
    return await Promise.race([shown(), late]);
  } catch {
    return [];
  } finally {
    clearTimeout(timer);
  }
}

/** Adds the gauges, which read their values at each scrape. */
export function addGauges(
  registry: Registry,
  { relayers, networks, webhookBacklog, databaseLogBytes }: FigureSources,
  nowMs: () => number,
): void {
  function gauge(name: string, help: string, labelNames: readonly string[], shown: () => Shown | Promise<Shown>): void {
    new Gauge({
      name,
      help,
      labelNames: [...labelNames],
      registers: [registry],
      async collect() {
        const now = await readInTime(shown);
        this.reset();
        // A gauge without labels is 0 after a reset, which would be a wrong value.
        if (labelNames.length === 0) this.remove();
        for (const [labels, value] of now) this.set(labels, value);
      },
    });
  }
  const perRelayer = (name: string, help: string, figureOf: (figures: RelayerFigures) => number | null) =>
    gauge(name, help, ['relayer'], () =>
      relayers().flatMap((figures) => {
        const value = figureOf(figures);
        return value === null ? [] : [[{ relayer: figures.relayerId }, value] as const];
      }),
    );
  const perNetwork = (name: string, help: string, figureOf: (figures: NetworkFigures) => number | null) =>
    gauge(name, help, ['network'], () =>
      networks().flatMap((figures) => {
        const value = figureOf(figures);
        return value === null ? [] : [[{ network: figures.network }, value] as const];
      }),
    );

  gauge('relayer_open_transactions', 'Open transactions by status', ['relayer', 'status'], () =>
    relayers().flatMap(({ relayerId, open }) =>
      openStatuses.map((status) => [{ relayer: relayerId, status }, open.get(status) ?? 0] as const),
    ),
  );
  perRelayer('relayer_lane_waiting', 'Open transactions without a signed attempt', ({ waiting }) => waiting);
  perRelayer('relayer_lane_in_flight', 'Open transactions with a signed attempt', ({ inFlight }) => inFlight);
  perRelayer(
    'relayer_lane_in_flight_limit',
    'Transactions that may be in flight now; no value on networks without nonces',
    ({ inFlightLimit }) => inFlightLimit,
  );
  perRelayer('relayer_oldest_open_seconds', 'Age of the oldest open transaction; 0 if there is none', ({ oldestOpenMs }) =>
    oldestOpenMs === null ? 0 : Math.max(0, nowMs() - oldestOpenMs) / 1000,
  );
  perRelayer('relayer_active', '1 if the relayer is active, 0 if it is paused or disabled', ({ isActive }) => (isActive ? 1 : 0));
  perNetwork('relayer_network_reachable', '1 if at least one RPC node of the network answers, else 0', ({ isReachable }) =>
    isReachable ? 1 : 0,
  );
  perNetwork(
    'relayer_network_forked_endpoints',
    'RPC endpoints that are left out because they are on another branch of the chain',
    ({ forkedEndpoints }) => forkedEndpoints,
  );
  perNetwork('relayer_head_block', 'Number of the newest block seen', ({ head }) => (head === null ? null : Number(head.number)));
  perNetwork('relayer_head_age_seconds', 'Time since the timestamp of the newest block seen', ({ head }) =>
    head === null ? null : Math.max(0, nowMs() - head.timestampMs) / 1000,
  );
  gauge('relayer_webhook_backlog', 'Webhook events that wait for delivery, counted up to 100000', [], async () => [
    [{}, await webhookBacklog()],
  ]);
  gauge('relayer_database_log_bytes', "Size of SQLite's write-ahead log; 0 on PostgreSQL", [], () => [[{}, databaseLogBytes()]]);
}
