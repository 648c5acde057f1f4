import type { DomainError } from '../core/errors/errors.js';
import { readTraceParent, type Telemetry, traceIdOf } from '../core/ports/telemetry.js';
import type { Principal } from '../core/records/principal.js';
import type { Log } from '../core/work/log.js';
import { type Call, loggedMs } from './contract/call.js';
import { errorTable } from './contract/error-table.js';
import type { ApiRequest, ApiResponse } from './http/header.js';
import { rpcProtocolOf } from './rpc/protocol-error.js';
import { isStream, type Target } from './target.js';

/** A request as log, metrics and traces see it. The handler fills in the facts that it learns. */
export interface WatchedRequest {
  readonly traceParent: Call['traceParent'];
  readonly traceId: Call['traceId'];
  readonly path: Call['path'];
  readonly startedAtMs: Call['startedAtMs'];
  principal: Principal | null;
  call: Call | null;
  /** The error of a guard. */
  failure: DomainError | null;
  /** Runs the task inside the request's span, so that its own outgoing calls become children of it. */
  within(task: () => void): void;
}

/** A request that has just arrived. */
export interface RequestBegun {
  readonly request: ApiRequest;
  readonly response: ApiResponse;
  readonly path: string;
  readonly requestId: string;
  readonly target: Target;
}

/** The maximum length of a path in a log line. */
const maxLoggedPath = 256;
/** The status that is counted if the caller left before there was an answer. */
const callerLeftStatus = 499;

/**
 * Creates the watch over all requests. When an answer has ended, it counts the request, ends its span and writes its log line, unless its
 * audit line is in the log and says the same.
 */
export function createRequestWatch(log: Log, { meter, tracer }: Telemetry): (begun: RequestBegun) => WatchedRequest {
  return ({ request, response, path: wholePath, requestId, target }) => {
    const path = wholePath.slice(0, maxLoggedPath);
    const startedAtMs = performance.now();
    const callerTrace = callerTraceOf(request);
    const span =
      'label' in target && target.kind !== 'page'
        ? tracer.begin(target.label, { kind: 'server', parent: callerTrace, facts: { 'rpc.method': target.label } })
        : null;
    const traceParent = span?.traceParent ?? callerTrace;
    const watched: WatchedRequest = {
      traceParent,
      traceId: traceIdOf(span?.traceParent ?? null),
      path,
      startedAtMs,
      principal: null,
      call: null,
      failure: null,
      within: (task) => tracer.within(span, task),
    };
    response.on('close', () => {
      const failure = watched.failure ?? watched.call?.failure ?? null;
      const status = response.headersSent ? response.statusCode : callerLeftStatus;
      const code = failure === null || status === callerLeftStatus ? status : errorTable[failure.kind].httpStatus;
      const ms = performance.now() - startedAtMs;
      meter.requestEnded(
        labelOf(target),
        protocolOf(target, request),
        code,
        isStream(target) ? null : (ms - (watched.call?.waitedMs ?? 0)) / 1000,
      );
      // A caller's error is not a failure of the service, so the span stays clean.
      span?.end(failure !== null && code >= 500 ? failure.reason : null, { 'http.response.status_code': code });
      if (watched.call?.auditedStatus === code) return;
      const line = {
        method: request.method,
        path,
        status,
        ms: loggedMs(ms),
        requestId,
        keyId: watched.principal?.keyId ?? null,
        reason: failure?.reason ?? null,
        traceId: traceIdOf(traceParent),
      };
      // Probes request pages every few seconds.
      if (target.kind === 'page') log.debug(line, 'request');
      else log.info(line, 'request');
    });
    return watched;
  };
}

/** The caller's trace context; null if absent or malformed. */
function callerTraceOf({ headers: { traceparent } }: ApiRequest): string | null {
  return typeof traceparent === 'string' && readTraceParent(traceparent) !== null ? traceparent : null;
}

function labelOf(target: Target): string {
  return 'label' in target ? target.label : 'none';
}

function protocolOf(target: Target, request: ApiRequest): string {
  if (target.kind === 'page') return 'http';
  if (!target.rpc) return 'rest';
  const protocol = rpcProtocolOf(request.headers['content-type']);
  return protocol === 'connect-stream' ? 'connect' : protocol;
}
