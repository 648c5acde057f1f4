import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Meter } from '../../core/ports/telemetry.js';
import type { Clock } from '../../core/work/clock.js';
import type { AuditHealth } from '../../core/work/log.js';
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

/** The sources of metrics that exist from the start. */
export interface MetricsDeps {
  readonly version: string;
  readonly clock: Clock;
  readonly audit: AuditHealth;
}

/** Makes the metrics, including metrics of the process and its event loop. */
export function createMetrics({ version, clock, audit }: MetricsDeps): Metrics {
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
  new Counter({
    name: 'relayer_audit_lines_lost_total',
    help: 'Audit lines that could not be written to AUDIT_LOG_FILE and no longer wait in memory',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(audit.lostLines());
    },
  });
  new Gauge({
    name: 'relayer_audit_failing',
    help: '1 while AUDIT_LOG_FILE cannot be written',
    registers: [registry],
    collect() {
      this.set(audit.problem() === null ? 0 : 1);
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
