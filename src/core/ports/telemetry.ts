import type { Intent, TransactionStatus } from '../transaction/transaction.js';

/** What a try to deliver a webhook came to: `failed` is to be tried again, `dead` is given up. */
export type WebhookOutcome = 'delivered' | 'failed' | 'dead';

/**
 * Counts and times the service's work. Every call is cheap, keeps nothing of what it is given, and never throws. Labels come from closed or
 * configured lists only: never an id of a transaction, a path, or what a caller wrote.
 */
export interface Meter {
  /**
   * A request has ended. `method`: `TransactionService.SendTransaction`, the path of a page, or `none`. `code`: the HTTP status by which REST tells
   * the outcome, whatever the protocol; 499 where the caller left before. `seconds` null: its length says nothing, as with a stream.
   */
  requestEnded(method: string, protocol: string, code: number, seconds: number | null): void;
  /** The store wrote a commit for so many callers, or could not. */
  batchEnded(callers: number, seconds: number, isWritten: boolean): void;
  /** `seconds`: how long the try took; null where there was nothing to try it with. */
  webhookTried(outcome: WebhookOutcome, seconds: number | null): void;
  /** Between the commit of an event and its delivery. */
  webhookDelivered(delaySeconds: number): void;
  /** A request to a node with so many calls ended: `refused` by its HTTP status, or `failed` without an answer. */
  nodeAsked(network: string, host: string, result: 'answered' | 'refused' | 'failed', calls: number, seconds: number): void;
  /** A transaction has this status from now on. */
  statusReached(relayerId: string, status: TransactionStatus): void;
  /** A version was signed and stored. `kind`: what for; `escalation`: the service itself outbids for content. */
  attemptStored(relayerId: string, kind: Intent | 'escalation'): void;
}

const nothing = () => undefined;

/** Counts nothing. */
export const noMeter: Meter = {
  requestEnded: nothing,
  batchEnded: nothing,
  webhookTried: nothing,
  webhookDelivered: nothing,
  nodeAsked: nothing,
  statusReached: nothing,
  attemptStored: nothing,
};

/** Facts about a span, under OpenTelemetry's names where there is one. Never a secret, never a whole URL. */
export type SpanFacts = Readonly<Record<string, string | number | boolean>>;

/** Who began what a span tells of: `server` a caller, `client` we by asking somebody, `internal` we for ourselves. */
export type SpanKind = 'server' | 'client' | 'internal';

/** A piece of work that is being traced. */
export interface Span {
  /** What children hang on, as the header `traceparent` says it. */
  readonly traceParent: string;
  /** Ends it now; once. `failure`: what went wrong, in a sentence that may be shown; null: nothing. */
  end(failure?: string | null, facts?: SpanFacts): void;
}

/** What a span begins with. */
export interface SpanStart {
  readonly kind: SpanKind;
  /** `traceparent` of the span that it is part of; null: it begins a trace. */
  readonly parent: string | null;
  readonly facts?: SpanFacts;
  /** When it began, where that was before now. */
  readonly startMs?: number;
}

/** Traces work over processes, by W3C trace context. */
export interface Tracer {
  /** Null where nothing is traced: then there is nothing to end. */
  begin(name: string, start: SpanStart): Span | null;
  /** Runs a task so that what is asked of others in it, however deep, is part of this span. */
  within<T>(span: Span | null, task: () => T): T;
  /** `traceparent` for a request to somebody else that is made now; null: none. */
  current(): string | null;
}

/** Traces nothing. */
export const noTracer: Tracer = {
  begin: () => null,
  within: (_span, task) => task(),
  current: () => null,
};

/** What watches the service at its work. */
export interface Telemetry {
  readonly meter: Meter;
  readonly tracer: Tracer;
}

/** Watches nothing. */
export const noTelemetry: Telemetry = { meter: noMeter, tracer: noTracer };

/** The value of a header `traceparent` (W3C trace context, version 00), taken apart. */
export interface TraceParent {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  readonly isSampled: boolean;
}

const pattern = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Reads it; null where it is malformed, all zeros, or of the forbidden version ff: then it counts as absent. */
export function readTraceParent(text: string | null | undefined): TraceParent | null {
  const [, traceId, spanId, flags] = pattern.exec(text ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  if (text?.startsWith('ff') || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** Writes it. */
export function traceParentText({ traceId, spanId, isSampled }: TraceParent): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}
