import type { Page } from './page.js';

/** What the page shows. */
export interface MetricsText {
  text(): Promise<string>;
  readonly contentType: string;
}

/** The numbers about the service, in Prometheus' text format. Any valid key may read them. */
export function createMetricsPage(metrics: MetricsText): Page {
  return {
    path: '/metrics',
    scope: 'authenticated',
    render: async () => ({ status: 200, contentType: metrics.contentType, body: await metrics.text() }),
  };
}
