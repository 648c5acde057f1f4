import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Loaded into the service under attack: on SIGUSR2 it reports its longest stall since the last time, collects its garbage, and reports its memory. */
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Milliseconds between two measurements of the loop; they count in its delays. */
const resolution = 5;
const delays = monitorEventLoopDelay({ resolution });
delays.enable();

process.on('SIGUSR2', () => {
  const stallMs = Math.round(delays.max / 1e6) - resolution;
  collect();
  const { heapUsed, external } = process.memoryUsage();
  process.stderr.write(`${JSON.stringify({ level: 'info', heldBytes: heapUsed + external, stallMs, msg: 'collected' })}\n`);
  // The collection itself is no stall of the service's.
  setTimeout(() => delays.reset(), 4 * resolution);
});
