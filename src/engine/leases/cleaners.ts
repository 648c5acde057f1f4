import type { Work } from '../../core/ports/leases.js';
import type { Repeating } from '../../core/work/repeat.js';

/** Creates the work that deletes what is old, of which each of `starts` begins a part. */
export function createCleaners(starts: readonly (() => Repeating)[]): Work {
  let running: readonly Repeating[] = [];
  return {
    async begin() {
      running = starts.map((start) => start());
    },
    async end() {
      await Promise.all(running.map((one) => one.stop()));
      running = [];
    },
  };
}
