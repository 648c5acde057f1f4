import type { Clock } from '../../core/work/clock.js';
import type { Readiness } from '../contract/readiness.js';
import type { Page } from './page.js';

/** Liveness: 200 with the text `OK`, as load balancers and the public client expect. */
export const healthPage: Page = {
  path: '/api/v1/health',
  scope: 'public',
  render: () => ({ status: 200, contentType: 'text/plain; charset=utf-8', body: 'OK' }),
};

/**
 * The system resources that the process uses, as clients of OpenZeppelin Relayer read them. Zeros if the operating system does not report
 * them.
 */
export interface SystemState {
  readonly fd_count: number;
  readonly fd_limit: number;
  readonly fd_usage_percent: number;
  readonly close_wait_count: number;
}

/** Readiness: 200 or 503 with `{"ready","status","timestamp","components","networks"}`. */
export function createReadyPage(
  readiness: () => Promise<Readiness>,
  { clock, system }: { readonly clock: Clock; readonly system: () => Promise<SystemState> },
): Page {
  return {
    path: '/api/v1/ready',
    scope: 'public',
    async render() {
      const [{ ready, components, networks }, state] = await Promise.all([readiness(), system()]);
      const status = ready ? 'healthy' : 'unhealthy';
      const timestamp = new Date(clock.nowMs()).toISOString();
      const all = { ...components, system: { status: 'healthy', ...state } };
      return {
        status: ready ? 200 : 503,
        contentType: 'application/json',
        body: JSON.stringify({ ready, status, timestamp, components: all, networks }),
      };
    },
  };
}

/** The source of the metrics page. */
export interface MetricsText {
  text(): Promise<string>;
  readonly contentType: string;
}

/** What a caller that is limited to relayers may see of nodes: the networks of its relayers by name, and the hosts that these use. */
export interface OwnNodes {
  readonly networks: ReadonlySet<string>;
  readonly hosts: ReadonlySet<string>;
}

/**
 * The service's metrics in Prometheus' text format. Any valid key may read them; one that is limited to relayers sees only samples that
 * name one of its relayers, or a network and a host that its relayers use. `ownNodesOf`: calls no node.
 */
export function createMetricsPage(metrics: MetricsText, ownNodesOf: (relayerIds: ReadonlySet<string>) => OwnNodes): Page {
  return {
    path: '/metrics',
    scope: 'authenticated',
    async render(_request, principal) {
      const text = await metrics.text();
      const relayers = principal?.relayers ?? null;
      return {
        status: 200,
        contentType: metrics.contentType,
        body: relayers === null ? text : textFor(relayers, ownNodesOf(relayers), text),
      };
    },
  };
}

/** The pages of the port for metrics alone, which needs no key. */
export function createOpenMetricsPages(metrics: MetricsText): readonly Page[] {
  const render = async () => ({ status: 200, contentType: metrics.contentType, body: await metrics.text() });
  return ['/metrics', '/debug/metrics/scrape'].map((path) => ({ path, scope: 'public', render }));
}

const labelPatterns = { relayer: /[{,]relayer="([^"]*)"/, network: /[{,]network="([^"]*)"/, host: /[{,]host="([^"]*)"/ } as const;

/** Leaves out what is not about these relayers: the service's other figures sum up all relayers. */
function textFor(relayers: ReadonlySet<string>, { networks, hosts }: OwnNodes, text: string): string {
  const isVisible = (line: string): boolean => {
    if (line.startsWith('#')) return true;
    const labelOf = (name: keyof typeof labelPatterns): string | undefined => labelPatterns[name].exec(line)?.[1];
    const relayer = labelOf('relayer');
    if (relayer !== undefined) return relayers.has(relayer);
    const network = labelOf('network');
    const host = labelOf('host');
    return network !== undefined && networks.has(network) && (host === undefined || hosts.has(host));
  };
  return text.split('\n').filter(isVisible).concat('').join('\n');
}
