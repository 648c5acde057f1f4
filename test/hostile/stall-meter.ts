import { readFileSync } from 'node:fs';

/** Milliseconds between two looks at the clocks. */
const resolutionMs = 5;

/** Measures how long the event loop of this process stands still. */
export interface StallMeter {
  /** Returns the longest stall since the last call, in milliseconds. */
  take(): number;
  /** Returns the longest processor time of the thread between two looks since the last call: that of the longest turn of the event loop. */
  takeTurnCpu(): number;
  /** Begins anew. */
  reset(): void;
  stop(): void;
}

/**
 * Starts to measure on the main thread. A stall is the time between two looks, beyond what was planned: the thread computed, or it waited for a
 * file, a lock or another process. Time in which the thread could run but another had the processor is no stall of the service: the kernel
 * counts it in `schedstat`.
 */
export function startStallMeter(): StallMeter {
  const schedstat = `/proc/self/task/${process.pid}/schedstat`;
  /** The processor time of this thread, and the time that it has waited for a processor. */
  const processorMs = () => {
    const [used, waited] = readFileSync(schedstat, 'latin1').split(' ');
    return { usedMs: Number(used) / 1_000_000, waitedMs: Number(waited) / 1_000_000 };
  };
  let stallMs = 0;
  let turnCpuMs = 0;
  let lookedAtMs = performance.now();
  let processor = processorMs();

  function look(): void {
    const processorNow = processorMs();
    const nowMs = performance.now();
    stallMs = Math.max(stallMs, nowMs - lookedAtMs - (processorNow.waitedMs - processor.waitedMs) - resolutionMs);
    turnCpuMs = Math.max(turnCpuMs, processorNow.usedMs - processor.usedMs);
    lookedAtMs = nowMs;
    processor = processorNow;
  }

  const timer = setInterval(look, resolutionMs).unref();
  return {
    take() {
      look();
      const longestMs = stallMs;
      stallMs = 0;
      return longestMs;
    },
    takeTurnCpu() {
      look();
      const longestMs = turnCpuMs;
      turnCpuMs = 0;
      return longestMs;
    },
    reset() {
      look();
      stallMs = 0;
      turnCpuMs = 0;
    },
    stop: () => clearInterval(timer),
  };
}
