import { closeSync, fstatSync, openSync, readSync, type Stats, statSync, writeSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { AuditHealth, Log } from '../core/work/log.js';
import { backgroundTimers } from '../core/work/timers.js';

/*
 * The file of the audit log.
 *
 * States: *working*; and *failing*, from a write that failed until one that succeeds. While it fails, lines wait in memory up to a limit,
 * further ones are lost and counted, and the write is tried again every second and with each line. Nothing that happens to the file ends
 * the process. Before each write the file is looked up by its name: if it was renamed or deleted, a new one is opened. A line is never
 * split between two files, and begins after a line break: a part of a line, which a failed write or a killed process left, ends first.
 */

/** The maximum size of the lines that wait. */
const maxWaitingBytes = 8 * 1024 * 1024;
const retryMs = 1_000;
const newLine = 10;

/** How the file is written. */
export interface AuditFileOptions {
  /** True: each line is written before `write` returns, and a failing file refuses. */
  readonly failsClosed: boolean;
  readonly log: Pick<Log, 'error' | 'warn'>;
}

/** The file of the audit log. */
export interface AuditFile extends AuditHealth {
  /** Adds a line, which ends with a line break. Never throws. */
  write(line: string): void;
  /** The last whole line that was in the file when it was opened, without its line break; null: none. */
  readonly lastLineBefore: string | null;
}

/** More than the longest line and a part of another. */
const lastBytes = 256 * 1024;

/** Returns the last bytes of the file; none for one that cannot be read. */
function endOf(path: string): Buffer {
  let open: number | null = null;
  try {
    open = openSync(path, 'r');
    const { size } = fstatSync(open);
    const end = Buffer.alloc(Math.min(size, lastBytes));
    return end.subarray(0, readSync(open, end, 0, end.length, size - end.length));
  } catch {
    return Buffer.alloc(0);
  } finally {
    if (open !== null) closeSync(open);
  }
}

function lastLineOf(end: Buffer): string | null {
  const lines = end
    .subarray(0, end.lastIndexOf(newLine) + 1)
    .toString()
    .split('\n');
  return lines.at(-2) ?? null;
}

/** Opens the file, readable by its owner only. Throws if it cannot be opened, or is a pipe or a socket. */
export async function openAuditFile(path: string, { failsClosed, log }: AuditFileOptions): Promise<AuditFile> {
  // Opening a pipe waits for its reader, and writing to it for a slow one: the whole service would wait.
  const found = await stat(path).catch(() => undefined);
  if (found?.isFIFO() || found?.isSocket()) throw new Error(`AUDIT_LOG_FILE ${path} is a pipe or a socket; must be a file`);
  let descriptor: number | null;
  let endsInPart = false;
  const openNow = () => {
    const open = openSync(path, 'a', 0o600);
    const end = endOf(path);
    endsInPart = end.length > 0 && end.at(-1) !== newLine;
    return open;
  };
  try {
    descriptor = openNow();
  } catch (cause) {
    throw new Error(`cannot open AUDIT_LOG_FILE ${path}`, { cause });
  }
  const lastLineBefore = lastLineOf(endOf(path));
  /** Lines of this turn of the event loop. */
  let added = '';
  /** Lines that a failed write left, and how many bytes of the first are in the open file already. */
  let left: Buffer = Buffer.alloc(0);
  let leftWritten = 0;
  let failure: string | null = null;
  let lost = 0;
  let stopRetry = (): void => undefined;

  function isReplaced(open: number): boolean {
    let own: Stats;
    try {
      own = fstatSync(open);
    } catch {
      // Nothing can be written to it.
      return true;
    }
    const named = statSync(path, { throwIfNoEntry: false });
    return named === undefined || named.ino !== own.ino || named.dev !== own.dev;
  }

  function reopen(): void {
    const open = descriptor;
    // First: what failed to close is never closed again, when its number may be that of another file.
    descriptor = null;
    leftWritten = 0;
    if (open === null) return;
    try {
      closeSync(open);
    } catch (error) {
      lost += 1;
      log.warn({ err: error, file: path }, 'closing the audit log failed; its last lines may be lost');
    }
  }

  function writeAll(): void {
    const lines = left.length === 0 ? Buffer.from(added) : Buffer.concat([left, Buffer.from(added)]);
    added = '';
    let written = leftWritten;
    try {
      if (descriptor !== null && isReplaced(descriptor)) reopen();
      written = leftWritten;
      descriptor ??= openNow();
      if (endsInPart) writeSync(descriptor, '\n');
      endsInPart = false;
      while (written < lines.length) written += writeSync(descriptor, lines, written);
      left = Buffer.alloc(0);
      leftWritten = 0;
    } catch (error) {
      const start = lines.subarray(0, written).lastIndexOf(newLine) + 1;
      left = Buffer.from(lines.subarray(start));
      leftWritten = written - start;
      throw error;
    }
  }

  function flush(): void {
    stopRetry();
    try {
      writeAll();
      if (failure !== null) log.warn({ lost }, 'the audit log can be written again');
      failure = null;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (failure === null) log.error({ err: error, file: path }, 'the audit log cannot be written; its lines wait in memory');
      failure = message;
      stopRetry = backgroundTimers.after(retryMs, flush);
    }
  }

  process.once('exit', flush);
  return {
    lastLineBefore,
    write(line) {
      if (left.length + added.length + line.length > maxWaitingBytes) {
        lost += 1;
        return;
      }
      if (added === '' && !failsClosed) setImmediate(flush);
      added += line;
      if (failsClosed) flush();
    },
    problem: () => failure,
    refuses: () => failsClosed && failure !== null,
    lostLines: () => lost,
    reopen,
  };
}
