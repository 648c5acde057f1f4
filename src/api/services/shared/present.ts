import { type Timestamp, timestampFromMs } from '@bufbuild/protobuf/wkt';
import { timeMsOf } from '../../../codec/scalar-codecs.js';

/**
 * An optional field of a message: absent if the value is null. Spread optional fields after all others: V8 adds a field slowly to an object
 * whose hidden class depends on what is absent.
 */
export function present<K extends string, V>(key: K, value: V | null): { [P in K]?: V } {
  const field: { [P in K]?: V } = {};
  if (value !== null) field[key] = value;
  return field;
}

/** An optional time, given in milliseconds since the epoch. */
export function presentTime<K extends string>(key: K, timeMs: number | null): { [P in K]?: Timestamp } {
  return present(key, timeMs === null ? null : timestampFromMs(timeMs));
}

/** The time after which a transaction expires, in milliseconds since the epoch. */
export function validUntilOf({ validUntil }: { readonly validUntil?: Timestamp | undefined }): { validUntilMs: number | undefined } {
  return { validUntilMs: validUntil && timeMsOf(validUntil) };
}

/** An optional amount of a chain's smallest unit, in decimal. */
export function presentAmount<K extends string>(key: K, amount: bigint | null): { [P in K]?: string } {
  return present(key, amount === null ? null : amount.toString());
}
