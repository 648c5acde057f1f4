import { readdir, readFile } from 'node:fs/promises';
import type { Clock } from '../core/work/clock.js';

/** How long a reading is reused: it lists every connection, and readiness is public. */
const maxAgeMs = 1000;
/** The state CLOSE_WAIT in the kernel's tables. */
const closeWait = /^ *\d+: \S+ \S+ 08 /gm;

/** Creates the reader of the system resources that the process uses, from Linux's `/proc`. On other systems all figures are 0. */
export function createSystemState(clock: Clock): () => ReturnType<typeof readState> {
  let latest: { readonly atMs: number; readonly state: ReturnType<typeof readState> } | undefined;
  return () => {
    const nowMs = clock.nowMs();
    if (latest === undefined || Math.abs(nowMs - latest.atMs) >= maxAgeMs) latest = { atMs: nowMs, state: readState() };
    return latest.state;
  };
}

async function readState() {
  const [descriptors, limits, tcp, tcp6] = await Promise.all([
    readdir('/proc/self/fd').catch(() => []),
    textOf('/proc/self/limits'),
    textOf('/proc/self/net/tcp'),
    textOf('/proc/self/net/tcp6'),
  ]);
  const limit = Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? 0);
  return {
    fd_count: descriptors.length,
    fd_limit: limit,
    fd_usage_percent: limit === 0 ? 0 : Math.round((descriptors.length / limit) * 10_000) / 100,
    // Connections that only the other side has closed.
    close_wait_count: (tcp + tcp6).match(closeWait)?.length ?? 0,
  };
}

function textOf(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '');
}
