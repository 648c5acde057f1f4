import { readdirSync, readFileSync } from 'node:fs';

/**
 * User and system time of a process so far, all its threads, in microseconds; null if there is no /proc. The scheduler counts nanoseconds; the
 * figures of `/proc/<pid>/stat` move in steps of ten milliseconds, which is too coarse for a short slice.
 */
export function processCpuUs(pid: number): number | null {
  try {
    const tasks = `/proc/${pid}/task`;
    return (
      readdirSync(tasks).reduce((sum, task) => sum + Number(readFileSync(`${tasks}/${task}/schedstat`, 'latin1').split(' ')[0]), 0) / 1_000
    );
  } catch {
    return null;
  }
}
