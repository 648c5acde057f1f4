import { Gauge, type Registry } from 'prom-client';
import { openStatuses, type TransactionStatus } from '../../core/transaction/transaction.js';

/** How a relayer stands. */
export interface RelayerFigures {
  readonly relayerId: string;
  /** Neither paused nor disabled. */
  readonly isActive: boolean;
  /** Open transactions of which nothing is signed. */
  readonly waiting: number;
  /** The other open ones. */
  readonly inFlight: number;
  /** By status. */
  readonly open: ReadonlyMap<TransactionStatus, number>;
  /** When the oldest open transaction was accepted; null: none is open. */
  readonly oldestOpenMs: number | null;
}

/** How a network stands. */
export interface NetworkFigures {
  readonly network: string;
  readonly isReachable: boolean;
  /** The newest block seen; null: none yet. */
  readonly head: { readonly number: bigint; readonly timestampMs: number } | null;
}

/** What is asked for at each scrape. Each costs a walk through memory at most, but for the backlog, which the store counts up to a bound. */
export interface FigureSources {
  relayers(): readonly RelayerFigures[];
  networks(): readonly NetworkFigures[];
  webhookBacklog(): Promise<number>;
}

/** What a gauge shows: values by their labels. */
type Shown = readonly (readonly [labels: Record<string, string>, value: number])[];

/** Adds the gauges that show how things stand at the time of a scrape. */
export function addGauges(registry: Registry, { relayers, networks, webhookBacklog }: FigureSources, nowMs: () => number): void {
  function gauge(name: string, help: string, labelNames: readonly string[], shown: () => Shown | Promise<Shown>): void {
    new Gauge({
      name,
      help,
      labelNames: [...labelNames],
      registers: [registry],
      async collect() {
        const now = await shown();
        this.reset();
        for (const [labels, value] of now) this.set(labels, value);
      },
    });
  }
  const perRelayer = (name: string, help: string, figureOf: (figures: RelayerFigures) => number) =>
    gauge(name, help, ['relayer'], () => relayers().map((figures) => [{ relayer: figures.relayerId }, figureOf(figures)]));
  const perNetwork = (name: string, help: string, figureOf: (figures: NetworkFigures) => number | null) =>
    gauge(name, help, ['network'], () =>
      networks().flatMap((figures) => {
        const value = figureOf(figures);
        return value === null ? [] : [[{ network: figures.network }, value] as const];
      }),
    );

  gauge('relayer_open_transactions', 'Transactions that are not final, by status', ['relayer', 'status'], () =>
    relayers().flatMap(({ relayerId, open }) =>
      openStatuses.map((status) => [{ relayer: relayerId, status }, open.get(status) ?? 0] as const),
    ),
  );
  perRelayer('relayer_lane_waiting', 'Open transactions of which nothing is signed', ({ waiting }) => waiting);
  perRelayer('relayer_lane_in_flight', 'Open transactions that are signed', ({ inFlight }) => inFlight);
  perRelayer('relayer_oldest_open_seconds', 'Age of the oldest transaction that is not final; 0: there is none', ({ oldestOpenMs }) =>
    oldestOpenMs === null ? 0 : Math.max(0, nowMs() - oldestOpenMs) / 1000,
  );
  perRelayer('relayer_active', '1: the relayer works; 0: it is paused or disabled', ({ isActive }) => (isActive ? 1 : 0));
  perNetwork('relayer_network_reachable', '1: a node of the network answers; 0: none does', ({ isReachable }) => (isReachable ? 1 : 0));
  perNetwork('relayer_head_block', 'The newest block that was seen', ({ head }) => (head === null ? null : Number(head.number)));
  perNetwork('relayer_head_age_seconds', 'Time since the newest block that was seen, by its own clock', ({ head }) =>
    head === null ? null : Math.max(0, nowMs() - head.timestampMs) / 1000,
  );
  gauge('relayer_webhook_backlog', 'Events that are to be delivered yet; counted up to 100000', [], async () => [
    [{}, await webhookBacklog()],
  ]);
}
