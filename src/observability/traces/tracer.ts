import type { Log } from '../../core/ports/log.js';
import { noTracer, type Tracer } from '../../core/ports/telemetry.js';

/** The options of a tracer. */
export interface TracerOptions {
  /** Base URL of an OTLP/HTTP collector; null disables tracing. */
  readonly endpoint: string | null;
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

/** Opens the tracer. Without an endpoint, OpenTelemetry is not loaded. */
export async function openTracer(options: TracerOptions): Promise<OpenedTracer> {
  const { endpoint } = options;
  if (endpoint === null) return { tracer: noTracer, close: async () => undefined };
  const { openOtlpTracer } = await import('./otlp-tracer.js');
  return openOtlpTracer({ ...options, endpoint });
}
