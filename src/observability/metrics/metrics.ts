import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Clock } from '../../core/ports/clock.js';
import type { Meter } from '../../core/ports/meter.js';
import { addGauges, type FigureSources } from './gauges.js';
import { createPrometheusMeter } from './meter.js';

/** All numbers about the service, for Prometheus. */
export interface Metrics {
  readonly meter: Meter;
  /** From now on a scrape also shows how these stand. Once. */
  show(sources: FigureSources): void;
  /** The text format. However many ask at the same time, it is made once. */
  text(): Promise<string>;
  /** Of that text. */
  readonly contentType: string;
}

/** Makes them, with those of the process and its event loop. */
export function createMetrics({ version, clock }: { readonly version: string; readonly clock: Clock }): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: 'relayer_build_info',
    help: 'Always 1; the versions are its labels',
    labelNames: ['version', 'node'],
    registers: [registry],
  }).set({ version, node: process.versions.node }, 1);
  const meter = createPrometheusMeter(registry);
  let underWay: Promise<string> | null = null;
  return {
    meter,
    show: (sources) => addGauges(registry, sources, () => clock.nowMs()),
    text() {
      underWay ??= registry.metrics().finally(() => {
        underWay = null;
      });
      return underWay;
    },
    contentType: registry.contentType,
  };
}
