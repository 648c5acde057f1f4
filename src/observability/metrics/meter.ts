import { Counter, Histogram, type Registry } from 'prom-client';
import type { Meter } from '../../core/ports/meter.js';
import { childrenBy } from './children-by.js';

/** From a fraction of what a request costs to longer than any may take. */
const requestSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const commitSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];
const commitCallers = [1, 2, 4, 8, 16, 32, 64, 128, 256];
const outsideSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15];
/** Up to the last of the retries. */
const delaySeconds = [0.05, 0.1, 0.5, 1, 5, 30, 120, 600, 3_600, 14_400, 86_400];

/** The meter that keeps its numbers in a registry. Each series is looked up by its labels once: what is counted often costs no allocation. */
export function createPrometheusMeter(registry: Registry): Meter {
  const registers = [registry];
  const requests = childrenBy(
    new Counter({
      name: 'relayer_requests_total',
      help: 'Requests that ended, by the HTTP status that tells the outcome whatever the protocol (499: the caller left)',
      labelNames: ['method', 'protocol', 'code'],
      registers,
    }),
  );
  const requestDurations = childrenBy(
    new Histogram({
      name: 'relayer_request_duration_seconds',
      help: 'Time from a request to the end of its answer, streams left out; result: ok, refused (4xx) or failed (5xx)',
      labelNames: ['method', 'protocol', 'result'],
      buckets: requestSeconds,
      registers,
    }),
  );
  const commits = childrenBy(
    new Counter({ name: 'relayer_commits_total', help: 'Commits of the database: written or failed', labelNames: ['result'], registers }),
  );
  const callersOfCommits = new Histogram({
    name: 'relayer_commit_callers',
    help: 'Callers whose changes one commit holds',
    buckets: commitCallers,
    registers,
  });
  const commitDurations = new Histogram({
    name: 'relayer_commit_duration_seconds',
    help: 'Time that a commit takes until it is durable',
    buckets: commitSeconds,
    registers,
  });
  const webhookTries = childrenBy(
    new Counter({
      name: 'relayer_webhook_tries_total',
      help: 'Tries to deliver a webhook: delivered, failed (to be tried again) or dead (given up)',
      labelNames: ['outcome'],
      registers,
    }),
  );
  const webhookDurations = new Histogram({
    name: 'relayer_webhook_try_duration_seconds',
    help: 'Time that a try to deliver a webhook takes',
    buckets: outsideSeconds,
    registers,
  });
  const webhookDelays = new Histogram({
    name: 'relayer_webhook_delay_seconds',
    help: 'Time from an event to its delivery, earlier tries included',
    buckets: delaySeconds,
    registers,
  });
  const nodeRequests = childrenBy(
    new Counter({
      name: 'relayer_node_requests_total',
      help: 'Requests to nodes: answered (whatever was said), refused (by HTTP status) or failed (no answer)',
      labelNames: ['network', 'host', 'result'],
      registers,
    }),
  );
  const nodeCalls = childrenBy(
    new Counter({
      name: 'relayer_node_calls_total',
      help: 'Calls in requests to nodes: a batch is one request',
      labelNames: ['network', 'host'],
      registers,
    }),
  );
  const nodeDurations = childrenBy(
    new Histogram({
      name: 'relayer_node_request_duration_seconds',
      help: 'Time that a request to a node takes',
      labelNames: ['network', 'host'],
      buckets: outsideSeconds,
      registers,
    }),
  );
  const transactions = childrenBy(
    new Counter({
      name: 'relayer_transactions_total',
      help: 'Transactions that reached a status since the start; pending: accepted',
      labelNames: ['relayer', 'status'],
      registers,
    }),
  );
  const attempts = childrenBy(
    new Counter({
      name: 'relayer_attempts_total',
      help: 'Signed versions by what for: content, cancel, expire, yield (it cannot be paid any more), escalation (outbids for the same content)',
      labelNames: ['relayer', 'kind'],
      registers,
    }),
  );
  // Rates and alerts need a zero to begin with.
  for (const result of ['written', 'failed']) commits(result).inc(0);
  for (const outcome of ['delivered', 'failed', 'dead']) webhookTries(outcome).inc(0);

  return {
    requestEnded(method, protocol, code, seconds) {
      requests(method, protocol, String(code)).inc();
      if (seconds !== null) requestDurations(method, protocol, resultOf(code)).observe(seconds);
    },
    batchEnded(callers, seconds, isWritten) {
      commits(isWritten ? 'written' : 'failed').inc();
      callersOfCommits.observe(callers);
      commitDurations.observe(seconds);
    },
    webhookTried(outcome, seconds) {
      webhookTries(outcome).inc();
      if (seconds !== null) webhookDurations.observe(seconds);
    },
    webhookDelivered: (seconds) => webhookDelays.observe(seconds),
    nodeAsked(network, host, result, calls, seconds) {
      nodeRequests(network, host, result).inc();
      nodeCalls(network, host).inc(calls);
      nodeDurations(network, host).observe(seconds);
    },
    statusReached: (relayerId, status) => transactions(relayerId, status).inc(),
    attemptStored: (relayerId, kind) => attempts(relayerId, kind).inc(),
  };
}

function resultOf(code: number): string {
  return code < 400 ? 'ok' : code < 500 ? 'refused' : 'failed';
}
