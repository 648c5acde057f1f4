import { type Timestamp, timestampFromMs } from '@bufbuild/protobuf/wkt';

/**
 * The value of a field whose date or time is typed only in part: browsers report such a field as empty, but an operator who began to type
 * does not mean "never".
 */
export const incompleteTime = 'incomplete';

/** Reads the value of a field for date and time, which is in the time zone of the browser; undefined: it is empty or no time. */
export function timeFromLocal(text: string): Timestamp | undefined {
  const ms = text === '' ? Number.NaN : new Date(text).getTime();
  return Number.isNaN(ms) ? undefined : timestampFromMs(ms);
}
