import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Meter } from '../../core/ports/telemetry.js';
import type { Clock } from '../../core/work/clock.js';
import { shareRun } from '../../core/work/share-run.js';
import { lostLogLines } from '../standard-output.js';
import { type FigureSources, gaugesText } from './gauges.js';
import { createPrometheusMeter } from './meter.js';

/** The metrics of the service for Prometheus. */
export interface Metrics {
  readonly meter: Meter;
  /** Adds the gauges of these sources to every later scrape. Call it once. */
  show(sources: FigureSources): void;
  /** Returns the metrics in Prometheus's text format; simultaneous calls share one result. */
  text(): Promise<string>;
  /** The content type of that text. */
  readonly contentType: string;
}

/**
 * Each measurement of the event loop's delay wakes the process: with the default of 10 ms, this cost a quarter of the time of an idle
 * process.
 */
const eventLoopSampleMs = 20;

/** Makes the metrics, including metrics of the process and its event loop. */
export function createMetrics({ version, clock }: { readonly version: string; readonly clock: Clock }): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: eventLoopSampleMs });
  new Gauge({
    name: 'relayer_build_info',
    help: 'Always 1; its labels are the versions of the service and of Node.js',
    labelNames: ['version', 'node'],
    registers: [registry],
  }).set({ version, node: process.versions.node }, 1);
  new Counter({
    name: 'relayer_log_lines_lost_total',
    help: 'Log lines that standard output did not accept',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(lostLogLines());
    },
  });
  const meter = createPrometheusMeter();
  let figures: FigureSources | null = null;

  async function read(): Promise<string> {
    const gauges = figures === null ? '' : `\n${await gaugesText(figures, () => clock.nowMs())}`;
    return `${await registry.metrics()}\n${meter.text()}${gauges}`;
  }

  return {
    meter,
    show(sources) {
      figures = sources;
    },
    text: shareRun(read),
    contentType: registry.contentType,
  };
}
