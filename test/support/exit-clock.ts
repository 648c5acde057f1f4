import { readFileSync, writeFileSync } from 'node:fs';

/*
 * Loaded before a program (`node --import`), it writes the time of the program's end into the file EXIT_CLOCK_FILE, for `timeOfStop`.
 */

const sampleMs = 50;

/** The time that the main thread of a process has waited for a processor, in milliseconds. */
function waitedForProcessorMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'latin1').split(' ')[1]) / 1e6;
}

/** One clock for all processes. */
function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

const file = process.env.EXIT_CLOCK_FILE;
if (file !== undefined) process.once('exit', () => writeFileSync(file, JSON.stringify([nowMs(), waitedForProcessorMs(process.pid)])));

/**
 * Begins to measure how long a program with this module takes to end. The returned function reads the result once it has ended, in milliseconds. The program
 * may let others finish until `workMs`, which it measures in real time. After that, the time in which its main thread could run but others had the processors
 * does not count: it says nothing about the program.
 */
export function timeOfStop(pid: number, exitClockFile: string, workMs: number): () => number {
  const begunMs = nowMs();
  let waitedBeforeMs = waitedForProcessorMs(pid);
  const sampling = setInterval(() => {
    if (nowMs() - begunMs < workMs) waitedBeforeMs = waitedForProcessorMs(pid);
    else clearInterval(sampling);
  }, sampleMs);
  return () => {
    clearInterval(sampling);
    const [endedMs, waitedMs] = JSON.parse(readFileSync(exitClockFile, 'latin1')) as [number, number];
    return endedMs - begunMs - (waitedMs - waitedBeforeMs);
  };
}
