import { readFileSync } from 'node:fs';

/** The value on every Linux that has /proc. */
const microsecondsPerTick = 10_000;

/** User and system time of a process so far, all its threads, in microseconds, in steps of ten milliseconds; null if there is no /proc. */
export function processCpuUs(pid: number): number | null {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return null;
  }
  // After the name, which may contain any character: state is field 3, utime 14, stime 15.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * microsecondsPerTick;
}
