import type { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import type { SpanExporter } from '@opentelemetry/sdk-trace-base';
import type { Log } from '../../core/ports/log.js';

/** The same exporter, which says in the log when spans cannot be sent, and when they can again. */
export function tellingOfTrouble(exporter: OTLPTraceExporter, log: Log): SpanExporter {
  let isFailing = false;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const failed = result.code !== 0;
        // Not its message, which may say more of the address than its host.
        if (failed && !isFailing) log.warn({ trouble: troubleOf(result.error) }, 'traces cannot be sent to the collector');
        if (!failed && isFailing) log.info({}, 'traces reach the collector again');
        isFailing = failed;
        done(result);
      });
    },
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
  };
}

function troubleOf(error: Error | undefined): string {
  const code = error !== undefined && 'code' in error ? error.code : undefined;
  return typeof code === 'string' || typeof code === 'number' ? String(code) : (error?.name ?? 'unknown');
}
