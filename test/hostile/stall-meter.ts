import { readFileSync } from 'node:fs';

/** Milliseconds between two looks at the clocks. */
const resolutionMs = 5;

/** Measures how long the event loop of this process stands still. */
export interface StallMeter {
  /** Returns the longest stall since the last call, in milliseconds. */
  take(): number;
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
  /** The time that this thread has waited for a processor. */
  const waitedForProcessorMs = () => Number(readFileSync(schedstat, 'latin1').split(' ')[1]) / 1_000_000;
  let stallMs = 0;
  let lookedAtMs = performance.now();
  let waitedMs = waitedForProcessorMs();

  function look(): void {
    const waitedNowMs = waitedForProcessorMs();
    const nowMs = performance.now();
    stallMs = Math.max(stallMs, nowMs - lookedAtMs - (waitedNowMs - waitedMs) - resolutionMs);
    lookedAtMs = nowMs;
    waitedMs = waitedNowMs;
  }

  const timer = setInterval(look, resolutionMs).unref();
  return {
    take() {
      look();
      const longestMs = stallMs;
      stallMs = 0;
      return longestMs;
    },
    reset() {
      look();
      stallMs = 0;
    },
    stop: () => clearInterval(timer),
  };
}
