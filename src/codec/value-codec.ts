import type { JsonValue } from '../json/json-value.js';
import type { Reading } from './reading.js';

/** How one kind of value is read from REST JSON and written to it. */
export interface ValueCodec {
  /** The value as a message holds it; undefined, with the problem noted, where it does not fit. */
  read(value: JsonValue, path: string, reading: Reading): unknown;
  /** The value as JSON text. */
  write(value: unknown): string;
  /** True where `null` is a value, not absence. */
  readonly readsNull?: true;
}

/** A message as its properties. Codecs are compiled from descriptors, so they know names and kinds, not types. */
export type Properties = Record<string, unknown>;
