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
