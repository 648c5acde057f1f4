import { setTimeout as elapsed } from 'node:timers/promises';
import { openGrpcCallers } from './grpc-callers.js';
import { openHttp1Callers } from './http1-callers.js';
import type { Job, Sample } from './job.js';
import { processCpuUs } from './process-cpu.js';

// The load generator: a process of its own that gets jobs from its parent and answers each with a sample or the failure.
process.on('message', (job: Job) => {
  measure(job).then(
    (sample) => process.send?.({ sample }),
    (error: unknown) => process.send?.({ failure: String(error) }),
  );
});

async function measure(job: Job): Promise<Sample> {
  const open = job.request.protocol === 'grpc' ? openGrpcCallers : openHttp1Callers;
  let tookMs: number[] = [];
  let failure: string | null = null;
  const callers = await open(
    job,
    (ms) => tookMs.push(ms),
    (what) => {
      failure ??= what;
    },
  );
  callers.start();
  await elapsed(job.warmUpMs);
  tookMs = [];
  const serverBefore = processCpuUs(job.pid);
  const clientBefore = process.cpuUsage();
  const beganMs = performance.now();
  await elapsed(job.measureMs);
  const seconds = (performance.now() - beganMs) / 1000;
  const client = process.cpuUsage(clientBefore);
  const serverAfter = processCpuUs(job.pid);
  const sorted = Float64Array.from(tookMs).sort();
  if (failure !== null) throw new Error(`${job.request.path}: ${failure}`);
  await callers.stop();
  return {
    perSecond: sorted.length / seconds,
    p50Ms: percentile(sorted, 50),
    p99Ms: percentile(sorted, 99),
    serverCpuUs: serverBefore === null || serverAfter === null ? null : (serverAfter - serverBefore) / sorted.length,
    clientCpu: (client.user + client.system) / 1e6 / seconds,
  };
}

function percentile(sorted: Float64Array, percent: number): number {
  return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)] ?? Number.NaN;
}
