import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as elapsed } from 'node:timers/promises';
import { type Context, ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { Span, SpanStart, Tracer } from '../../core/ports/tracer.js';
import { readTraceParent, traceParentText } from '../../core/trace-parent.js';
import { tellingOfTrouble } from './telling-of-trouble.js';
import type { OpenedTracer, TracerOptions } from './tracer.js';

/** How long a stop waits for a collector to take the last spans. */
const closeDeadlineMs = 2_000;

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL } as const;

/**
 * Sends spans to a collector by OTLP over HTTP, in batches, beside the work: one that does not answer costs spans and nothing else. Callers decide
 * by the sampled flag of their `traceparent` whether their requests are traced; what has no parent is, unless OTEL_TRACES_SAMPLER says otherwise.
 */
export function openOtlpTracer({ endpoint, serviceName, version, log }: TracerOptions & { readonly endpoint: string }): OpenedTracer {
  const exporter = tellingOfTrouble(new OTLPTraceExporter({ url: `${endpoint.replace(/\/+$/, '')}/v1/traces` }), log);
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
      await Promise.race([sent, elapsed(closeDeadlineMs, undefined, { ref: false })]);
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
