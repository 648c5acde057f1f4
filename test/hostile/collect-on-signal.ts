import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { startStallMeter } from './stall-meter.js';

/** Loaded into the service under attack: on SIGUSR2 it reports its longest stall and turn since the last time, collects its garbage, and reports its memory. */
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const stalls = startStallMeter();

process.on('SIGUSR2', () => {
  const [stallMs, turnCpuMs] = [Math.round(stalls.take()), Math.round(stalls.takeTurnCpu())];
  collect();
  const { heapUsed, external } = process.memoryUsage();
  process.stderr.write(`${JSON.stringify({ level: 'info', heldBytes: heapUsed + external, stallMs, turnCpuMs, msg: 'collected' })}\n`);
  // The collection itself is no stall of the service's.
  stalls.reset();
});
