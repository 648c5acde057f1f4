import { create } from '@bufbuild/protobuf';
import { type Timestamp, TimestampSchema } from '@bufbuild/protobuf/wkt';
import { instantFromRfc3339 } from '../core/rfc3339.js';
import type { ValueCodec } from './value-codec.js';

/** A time: RFC 3339, written in UTC with `Z` and three digits. */
export const timestampCodec: ValueCodec = {
  read: (value, path, reading) =>
    (typeof value === 'string' ? timestampFrom(value) : undefined) ?? reading.refuse(path, 'must be an RFC 3339 time'),
  write: (value) => {
    const { seconds, nanos } = value as Timestamp;
    return `"${new Date(Number(seconds) * 1000 + Math.floor(nanos / 1e6)).toISOString()}"`;
  },
};

function timestampFrom(text: string): Timestamp | undefined {
  const instant = instantFromRfc3339(text);
  return instant && create(TimestampSchema, { seconds: BigInt(instant.seconds), nanos: instant.nanos });
}
