import type { Log } from '../../core/ports/log.js';
import { noTracer, type Tracer } from '../../core/ports/tracer.js';

/** What a tracer is opened with. */
export interface TracerOptions {
  /** Base URL of an OTLP/HTTP collector; null: nothing is traced. */
  readonly endpoint: string | null;
  /** How traces call this service. */
  readonly serviceName: string;
  readonly version: string;
  readonly log: Log;
}

/** A tracer and its end. */
export interface OpenedTracer {
  readonly tracer: Tracer;
  /** Sends what is left. Never rejects for the collector's sake. */
  close(): Promise<void>;
}

/** Opens the tracer. Without an endpoint OpenTelemetry is not even loaded. */
export async function openTracer(options: TracerOptions): Promise<OpenedTracer> {
  const { endpoint } = options;
  if (endpoint === null) return { tracer: noTracer, close: async () => undefined };
  const { openOtlpTracer } = await import('./otlp-tracer.js');
  return openOtlpTracer({ ...options, endpoint });
}
