import type { Intent, TransactionStatus } from '../records/transaction.js';

/** The result of a webhook delivery attempt: `failed` will be retried, `dead` will not. */
export type WebhookOutcome = 'delivered' | 'failed' | 'dead';

/**
 * Counts and times the service's work. Every call is cheap and never throws. Labels come from fixed or configured lists only: never a
 * transaction id, a path, or a caller's text.
 */
export interface Meter {
  /**
   * A request has ended. `method`: `TransactionService.SendTransaction`, the path of a page, or `none`. `code`: the HTTP status that REST
   * uses for the outcome, on every protocol; 499 if the caller left early. `seconds`: null if the duration says nothing, as for a stream.
   */
  requestEnded(method: string, protocol: string, code: number, seconds: number | null): void;
  /** A new connection was closed: all connections are in use (`total`), or those of its address. */
  connectionRefused(limit: 'total' | 'address'): void;
  /** This number of audit lines is not in the stored copy, and never will be. */
  auditLinesUncopied(count: number): void;
  /** The store wrote, or failed to write, a commit shared by this many callers. */
  batchEnded(callers: number, seconds: number, isWritten: boolean): void;
  /** `seconds`: duration of the delivery attempt; null if it never started. */
  webhookTried(outcome: WebhookOutcome, seconds: number | null): void;
  /** Time between an event's commit and its delivery. */
  webhookDelivered(delaySeconds: number): void;
  /** A request with this many calls to a node ended: `refused` by its HTTP status, or `failed` without an answer. */
  nodeAsked(network: string, host: string, result: 'answered' | 'refused' | 'failed', calls: number, seconds: number): void;
  /** A transaction reached this status. */
  statusReached(relayerId: string, status: TransactionStatus): void;
  /** A transaction was reported as delayed. */
  delayed(relayerId: string): void;
  /** An attempt was signed and stored. `escalation`: a fee bump by the service. */
  attemptStored(relayerId: string, kind: Intent | 'escalation'): void;
}

const nothing = () => undefined;

/** A meter that counts nothing. */
export const noMeter: Meter = {
  requestEnded: nothing,
  connectionRefused: nothing,
  auditLinesUncopied: nothing,
  batchEnded: nothing,
  webhookTried: nothing,
  webhookDelivered: nothing,
  nodeAsked: nothing,
  statusReached: nothing,
  delayed: nothing,
  attemptStored: nothing,
};

/** Attributes of a span, with OpenTelemetry's names where they exist. Never a secret, never a whole URL. */
export type SpanFacts = Readonly<Record<string, string | number | boolean>>;

/** The kind of a span: `server` serves a caller, `client` calls another service, `internal` is the service's own work. */
export type SpanKind = 'server' | 'client' | 'internal';

/** A piece of traced work. */
export interface Span {
  /** The parent of its child spans, as in the header `traceparent`. */
  readonly traceParent: string;
  /** Ends the span; call it once. `failure`: a sentence that may be shown; null: success. */
  end(failure?: string | null, facts?: SpanFacts): void;
}

/** How a span begins. */
export interface SpanStart {
  readonly kind: SpanKind;
  /** `traceparent` of the parent span; null: it begins a trace. */
  readonly parent: string | null;
  readonly facts?: SpanFacts;
  /** When it began, if that was earlier. */
  readonly startMs?: number;
}

/** Traces work across processes by W3C trace context. */
export interface Tracer {
  /** Begins a span; null if tracing is off. */
  begin(name: string, start: SpanStart): Span | null;
  /** Runs a task so that its outgoing requests, however deep, belong to this span. */
  within<T>(span: Span | null, task: () => T): T;
  /** `traceparent` for a request that is sent now; null: none. */
  current(): string | null;
}

/** A tracer that traces nothing. */
export const noTracer: Tracer = {
  begin: () => null,
  within: (_span, task) => task(),
  current: () => null,
};

/** Metrics and traces of the service. */
export interface Telemetry {
  readonly meter: Meter;
  readonly tracer: Tracer;
}

/** Telemetry that records nothing. */
export const noTelemetry: Telemetry = { meter: noMeter, tracer: noTracer };

/** The parsed value of a header `traceparent` (W3C trace context, version 00). */
export interface TraceParent {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  readonly isSampled: boolean;
}

const traceParentPattern = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Parses a `traceparent`. Null if it is malformed, all zeros, or of the forbidden version ff: then it counts as absent. */
export function readTraceParent(text: string | null | undefined): TraceParent | null {
  const [, traceId, spanId, flags] = traceParentPattern.exec(text ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  if (text?.startsWith('ff') || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** Returns the trace id of a `traceparent`; null if that is null or malformed. */
export function traceIdOf(traceParent: string | null): string | null {
  // Most have none if tracing is off, and every record is encoded with this.
  return traceParent === null ? null : (readTraceParent(traceParent)?.traceId ?? null);
}

/** Formats a `traceparent`. */
export function traceParentText({ traceId, spanId, isSampled }: TraceParent): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}
