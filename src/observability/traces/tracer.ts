import { noTracer } from '../../core/ports/telemetry.js';
import type { OpenedTracer, OtlpTracerOptions } from './otlp-tracer.js';

/** The options of a tracer. */
interface TracerOptions extends Omit<OtlpTracerOptions, 'endpoint'> {
  /** Base URL of an OTLP/HTTP collector; null disables tracing. */
  readonly endpoint: string | null;
}

/** Opens the tracer. Without an endpoint, OpenTelemetry is not loaded. */
export async function openTracer(options: TracerOptions): Promise<OpenedTracer> {
  const { endpoint } = options;
  if (endpoint === null) return { tracer: noTracer, close: async () => undefined };
  const { openOtlpTracer } = await import('./otlp-tracer.js');
  return openOtlpTracer({ ...options, endpoint });
}
