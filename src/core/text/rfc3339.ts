/** A time: whole seconds since the epoch, and nanoseconds on top. */
export interface Instant {
  readonly seconds: number;
  readonly nanos: number;
}

// RFC 3339, section 5.6, without leap seconds, which no clock of ours has.
export const rfc3339Pattern = /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

/** Parses an RFC 3339 time from the year 1 on; undefined if it is invalid. Date.parse accepts 30 February and many other formats. */
export function instantFromRfc3339(text: string): Instant | undefined {
  const match = rfc3339Pattern.exec(text);
  if (match === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  const offsetHour = Number(match[9] ?? 0);
  const offsetMinute = Number(match[10] ?? 0);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  // Date turns 30 February into 2 March.
  if (year < 1 || date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  if (hour > 23 || minute > 59 || second > 59 || offsetHour > 23 || offsetMinute > 59) return undefined;
  const offsetMinutes = (offsetHour * 60 + offsetMinute) * (match[8] === '-' ? -1 : 1);
  const seconds = date.getTime() / 1000 + hour * 3600 + (minute - offsetMinutes) * 60 + second;
  return { seconds, nanos: Number((match[7] ?? '').padEnd(9, '0')) };
}
