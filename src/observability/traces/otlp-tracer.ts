import { AsyncLocalStorage } from 'node:async_hooks';
import { type Context, ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor, type SpanExporter } from '@opentelemetry/sdk-trace-base';
import { readTraceParent, type Span, type SpanStart, type Tracer, traceParentText } from '../../core/ports/telemetry.js';
import { inTime } from '../../core/work/abort.js';
import type { Log } from '../../core/work/log.js';

/** The options of a tracer that sends spans to a collector. */
export interface OtlpTracerOptions {
  /** Base URL of an OTLP/HTTP collector. */
  readonly endpoint: string;
  /** The name of this service in traces. */
  readonly serviceName: string;
  readonly version: string;
  readonly log: Log;
}

/** A tracer, and the way to close it. */
export interface OpenedTracer {
  readonly tracer: Tracer;
  /** Sends the remaining spans. Never rejects because of the collector. */
  close(): Promise<void>;
}

/** How long a stop waits for the collector to accept the last spans. */
const closeDeadlineMs = 2_000;

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL } as const;

/**
 * Opens a tracer that sends spans to a collector by OTLP over HTTP, in batches and in the background: if the collector does not answer,
 * spans are lost and nothing else happens. The sampled flag of a caller's `traceparent` decides whether its request is traced. A span
 * without a parent is traced unless OTEL_TRACES_SAMPLER says otherwise.
 */
export function openOtlpTracer({ endpoint, serviceName, version, log }: OtlpTracerOptions): OpenedTracer {
  const exporter = logFailures(new OTLPTraceExporter({ url: `${endpoint.replace(/\/+$/, '')}/v1/traces` }), log);
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': serviceName, 'service.version': version }),
    spanProcessors: [new BatchSpanProcessor(exporter)],
  });
  const otel = provider.getTracer('relayer-service', version);
  const running = new AsyncLocalStorage<string>();

  const tracer: Tracer = {
    begin(name, { kind, parent, facts, startMs }: SpanStart): Span {
      const span = otel.startSpan(
        name,
        {
          kind: kinds[kind],
          ...(facts === undefined ? {} : { attributes: facts }),
          ...(startMs === undefined ? {} : { startTime: startMs }),
        },
        contextOf(parent),
      );
      const { traceId, spanId, traceFlags } = span.spanContext();
      return {
        traceParent: traceParentText({ traceId, spanId, isSampled: (traceFlags & TraceFlags.SAMPLED) !== 0 }),
        end(failure = null, more) {
          if (more !== undefined) span.setAttributes(more);
          if (failure !== null) span.setStatus({ code: SpanStatusCode.ERROR, message: failure });
          span.end();
        },
      };
    },
    within: (span, task) => (span === null ? task() : running.run(span.traceParent, task)),
    current: () => running.getStore() ?? null,
  };
  return {
    tracer,
    async close() {
      const sent = provider.shutdown().catch(() => undefined);
      await inTime(sent, closeDeadlineMs, undefined);
    },
  };
}

function contextOf(parent: string | null): Context {
  const read = readTraceParent(parent);
  if (read === null) return ROOT_CONTEXT;
  const { traceId, spanId, isSampled } = read;
  const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}

/** Returns the same exporter, which also logs when spans stop and start to reach the collector. */
function logFailures(exporter: OTLPTraceExporter, log: Log): SpanExporter {
  let isFailing = false;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const failed = result.code !== 0;
        // Without the error's message, which may contain more of the address than its host.
        if (failed && !isFailing) log.warn({ error: codeOf(result.error) }, 'cannot send traces to the collector; their spans are lost');
        if (!failed && isFailing) log.info({}, 'traces reach the collector again');
        isFailing = failed;
        done(result);
      });
    },
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
  };
}

function codeOf(error: Error | undefined): string {
  const code = error !== undefined && 'code' in error ? error.code : undefined;
  return typeof code === 'string' || typeof code === 'number' ? String(code) : (error?.name ?? 'unknown');
}
