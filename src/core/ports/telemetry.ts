import { type Meter, noMeter } from './meter.js';
import { noTracer, type Tracer } from './tracer.js';

/** What watches the service at its work. */
export interface Telemetry {
  readonly meter: Meter;
  readonly tracer: Tracer;
}

/** Watches nothing. */
export const noTelemetry: Telemetry = { meter: noMeter, tracer: noTracer };
