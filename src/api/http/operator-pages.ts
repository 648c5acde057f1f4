import { mayUseRelayer, type Principal } from '../../core/records/principal.js';
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

/** A sample of one relayer. */
const relayerLabel = /[{,]relayer="([^"]*)"/;

/** The service's metrics in Prometheus' text format. Any valid key may read them; one that is limited to relayers sees only theirs. */
export function createMetricsPage(metrics: MetricsText): Page {
  return {
    path: '/metrics',
    scope: 'authenticated',
    async render(_request, principal) {
      const text = await metrics.text();
      return { status: 200, contentType: metrics.contentType, body: principal?.relayers == null ? text : textFor(principal, text) };
    },
  };
}

/** Leaves out the samples of relayers that the caller may not use. */
function textFor(principal: Principal, text: string): string {
  const isVisible = (line: string): boolean => {
    const relayerId = relayerLabel.exec(line)?.[1];
    return line.startsWith('#') || relayerId === undefined || mayUseRelayer(principal, relayerId);
  };
  return text.split('\n').filter(isVisible).join('\n');
}
