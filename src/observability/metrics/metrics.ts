import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Meter } from '../../core/ports/telemetry.js';
import type { Clock } from '../../core/work/clock.js';
import type { AuditHealth } from '../../core/work/log.js';
import { shareRun } from '../../core/work/share-run.js';
import { lostLogLines, waitingLogBytes } from '../standard-output.js';
import { type FigureSources, gaugesText } from './gauges.js';
import { createCounter, createHistogram } from './series.js';

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
  new Gauge({
    name: 'relayer_log_waiting_bytes',
    help: 'Log lines that standard output has not taken yet: its reader is slow, or the disk of its file is full',
    registers: [registry],
    collect() {
      this.set(waitingLogBytes());
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

  /** Alerts on the first failure or delay of a relayer need a zero before it. */
  const knownRelayers = ({ relayers }: FigureSources) =>
    function* () {
      for (const relayer of relayers()) {
        meter.known(relayer.relayerId);
        yield relayer;
      }
    };

  async function read(): Promise<string> {
    const gauges = figures === null ? '' : `\n${await gaugesText({ ...figures, relayers: knownRelayers(figures) }, () => clock.nowMs())}`;
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

/** From a fast request to longer than any request may take. */
const requestSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const commitSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];
const commitCallers = [1, 2, 4, 8, 16, 32, 64, 128, 256];
const outsideSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15];
/** Up to the last retry of a webhook. */
const delaySeconds = [0.05, 0.1, 0.5, 1, 5, 30, 120, 600, 3_600, 14_400, 86_400];

/** A meter, and its metrics in Prometheus's text format. */
interface PrometheusMeter extends Meter {
  /** Begins the series of a relayer that alerts compare, at zero. */
  known(relayerId: string): void;
  text(): string;
}

/** Makes a meter. */
function createPrometheusMeter(): PrometheusMeter {
  const texts: (() => string)[] = [];
  function shown<Series>({ series, text }: { readonly series: Series; text(): string }): Series {
    texts.push(text);
    return series;
  }
  const counter = (...definition: Parameters<typeof createCounter>) => shown(createCounter(...definition));
  const histogram = (...definition: Parameters<typeof createHistogram>) => shown(createHistogram(...definition));

  const requests = counter(
    'relayer_requests_total',
    'Finished requests by HTTP status; gRPC and Connect errors count as their HTTP equivalent, 499 if the caller disconnected',
    ['method', 'protocol', 'code'],
  );
  const calls = counter('relayer_calls_total', 'Finished requests without pages and health checks: ok, refused (4xx) or failed (5xx)', [
    'result',
  ]);
  const requestDurations = histogram(
    'relayer_request_duration_seconds',
    'Time from a request to the end of its response, without streams; result: ok, refused (4xx) or failed (5xx)',
    requestSeconds,
    ['method', 'protocol', 'result'],
  );
  const commits = counter('relayer_commits_total', 'Database commits, written or failed', ['result']);
  const callersOfCommits = histogram('relayer_commit_callers', 'Number of callers whose changes share one commit', commitCallers);
  const refusedConnections = counter(
    'relayer_connections_refused_total',
    'New connections that were closed: all connections are in use (total), or those of their address (address)',
    ['limit'],
  );
  const uncopiedLines = counter(
    'relayer_audit_copy_lines_lost_total',
    'Audit lines that are missing in the copy that the database has',
    [],
  );
  const commitDurations = histogram('relayer_commit_duration_seconds', 'Time until a commit is durable', commitSeconds);
  const webhookAttempts = counter(
    'relayer_webhook_tries_total',
    'Webhook delivery attempts: delivered, failed (will retry) or dead (no more attempts)',
    ['outcome'],
  );
  const webhookDurations = histogram('relayer_webhook_try_duration_seconds', 'Duration of a webhook delivery attempt', outsideSeconds);
  const webhookDelays = histogram(
    'relayer_webhook_delay_seconds',
    'Time from an event to its delivery, with all delivery attempts',
    delaySeconds,
  );
  const nodeRequests = counter(
    'relayer_node_requests_total',
    'HTTP requests to RPC nodes: answered, refused (by HTTP status) or failed (no response)',
    ['network', 'host', 'result'],
  );
  const nodeCalls = counter('relayer_node_calls_total', 'JSON-RPC calls to RPC nodes; a batch is one request', ['network', 'host']);
  const nodeDurations = histogram('relayer_node_request_duration_seconds', 'Duration of an HTTP request to an RPC node', outsideSeconds, [
    'network',
    'host',
  ]);
  const transactions = counter('relayer_transactions_total', 'Transactions that reached a status since the start; pending: accepted', [
    'relayer',
    'status',
  ]);
  const delays = counter(
    'relayer_transaction_delays_total',
    'Obstacles for which a transaction was reported as delayed (event transaction_delayed)',
    ['relayer'],
  );
  const attempts = counter(
    'relayer_attempts_total',
    'Signed attempts by kind: content, cancel, expire, release_slot (unblocks later transactions) or escalation (fee bump)',
    ['relayer', 'kind'],
  );
  // Rates and alerts need a zero to start from.
  for (const result of ['ok', 'refused', 'failed']) calls(result).inc(0);
  for (const limit of ['total', 'address']) refusedConnections(limit).inc(0);
  uncopiedLines().inc(0);
  for (const result of ['written', 'failed']) commits(result).inc(0);
  for (const outcome of ['delivered', 'failed', 'dead']) webhookAttempts(outcome).inc(0);

  return {
    requestEnded(method, protocol, code, seconds) {
      requests(method, protocol, String(code)).inc();
      if (protocol !== 'http' && !method.startsWith(healthMethods)) calls(resultOf(code)).inc();
      if (seconds !== null) requestDurations(method, protocol, resultOf(code)).observe(seconds);
    },
    connectionRefused: (limit) => refusedConnections(limit).inc(),
    auditLinesUncopied: (count) => uncopiedLines().inc(count),
    batchEnded(callers, seconds, isWritten) {
      commits(isWritten ? 'written' : 'failed').inc();
      callersOfCommits().observe(callers);
      commitDurations().observe(seconds);
    },
    webhookTried(outcome, seconds) {
      webhookAttempts(outcome).inc();
      if (seconds !== null) webhookDurations().observe(seconds);
    },
    webhookDelivered: (seconds) => webhookDelays().observe(seconds),
    nodeAsked(network, host, result, calls, seconds) {
      nodeRequests(network, host, result).inc();
      nodeCalls(network, host).inc(calls);
      nodeDurations(network, host).observe(seconds);
    },
    known(relayerId) {
      for (const status of ['pending', 'failed']) transactions(relayerId, status).inc(0);
      delays(relayerId).inc(0);
    },
    statusReached: (relayerId, status) => transactions(relayerId, status).inc(),
    delayed: (relayerId) => delays(relayerId).inc(),
    attemptStored: (relayerId, kind) => attempts(relayerId, kind).inc(),
    text: () => texts.map((text) => text()).join('\n'),
  };
}

/** Of `grpc.health.v1.Health`. */
const healthMethods = 'Health.';

function resultOf(code: number): string {
  return code < 400 ? 'ok' : code < 500 ? 'refused' : 'failed';
}
