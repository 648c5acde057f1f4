import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Loaded into the service under attack: on SIGUSR2 it reports its longest stall since the last time, collects its garbage, and reports its memory. */
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Milliseconds between two looks at the clocks. */
const resolution = 5;

/**
 * The longest time between two looks, beyond what was planned. Time in which other processes had the processor is no stall of the service: of
 * two looks that are far apart, only the processor time of this process in between counts.
 */
let stallMs = 0;
let lookedAtMs = performance.now();
let processorMs = processorTimeMs();

function processorTimeMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function look(): void {
  const nowMs = performance.now();
  const processorNowMs = processorTimeMs();
  stallMs = Math.max(stallMs, Math.min(nowMs - lookedAtMs, processorNowMs - processorMs) - resolution);
  lookedAtMs = nowMs;
  processorMs = processorNowMs;
}

setInterval(look, resolution).unref();

process.on('SIGUSR2', () => {
  look();
  const longestMs = Math.round(stallMs);
  collect();
  const { heapUsed, external } = process.memoryUsage();
  process.stderr.write(`${JSON.stringify({ level: 'info', heldBytes: heapUsed + external, stallMs: longestMs, msg: 'collected' })}\n`);
  // The collection itself is no stall of the service's.
  look();
  stallMs = 0;
});
