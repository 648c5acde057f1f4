import { create } from '@bufbuild/protobuf';
import { type Timestamp, TimestampSchema } from '@bufbuild/protobuf/wkt';
import type { ValueCodec } from './value-codec.js';

const pattern = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

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
  const match = pattern.exec(text);
  if (match === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  const offsetHour = Number(match[9] ?? 0);
  const offsetMinute = Number(match[10] ?? 0);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  // Date takes 30 February for 1 March.
  if (year < 1 || date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  if (hour > 23 || minute > 59 || second > 59 || offsetHour > 23 || offsetMinute > 59) return undefined;
  const offsetMinutes = (offsetHour * 60 + offsetMinute) * (match[8] === '-' ? -1 : 1);
  const seconds = date.getTime() / 1000 + hour * 3600 + (minute - offsetMinutes) * 60 + second;
  return create(TimestampSchema, { seconds: BigInt(seconds), nanos: Number((match[7] ?? '').padEnd(9, '0')) });
}
