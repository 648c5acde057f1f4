import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type Sqlite from 'better-sqlite3';
import { monotonicMs } from '../../core/work/clock.js';
import { repeat } from '../../core/work/repeat.js';

/** From this size on, a process of its own checkpoints the log: within a commit, a checkpoint of so much would hold the event loop. */
const largeLogBytes = 32 * 1024 * 1024;
/** A commit that leaves the log with more pages than this checkpoints it; SQLite's default. */
const automaticPages = 1_000;
const checkIntervalMs = 1_000;
/** While another program reads one state for long, no checkpoint completes. Starting a process costs 50 ms of CPU time. */
const maxPauseMs = 30_000;

const checkpointProgram = fileURLToPath(new URL('./checkpoint.js', import.meta.url));

/**
 * Shrinks the log of a database that an open reader, such as a backup, made large. The work takes as long as copying the log, so a process
 * does it while commits continue. `logBytes` returns the size of the log.
 */
export function startCheckpointer(file: string, writer: Sqlite.Database, logBytes: () => number): { stop(): void } {
  let isAutomatic = true;
  let child: ChildProcess | undefined;
  let pauseMs = checkIntervalMs;
  let nextRunMs = 0;

  function run(): void {
    // The environment has secrets that the process does not need.
    const started = spawn(process.execPath, [checkpointProgram, file], { stdio: 'ignore', env: {} });
    child = started;
    const ended = () => {
      if (child !== started) return;
      child = undefined;
      pauseMs = logBytes() > largeLogBytes ? Math.min(pauseMs * 2, maxPauseMs) : checkIntervalMs;
      nextRunMs = monotonicMs() + pauseMs;
    };
    started.once('exit', ended).once('error', ended);
  }

  async function check(): Promise<void> {
    const isLarge = logBytes() > largeLogBytes;
    if (isAutomatic === isLarge) writer.pragma(`wal_autocheckpoint = ${isLarge ? 0 : automaticPages}`);
    isAutomatic = !isLarge;
    if (isLarge && child === undefined && monotonicMs() >= nextRunMs) run();
  }

  // What fails here fails in the next commit too, which reports it.
  const checking = repeat(check, checkIntervalMs, { onError: () => undefined, runsAtOnce: false });

  return {
    stop() {
      void checking.stop();
      // A checkpoint can end at any point: the pages that it has not copied stay in the log.
      child?.kill('SIGKILL');
    },
  };
}
