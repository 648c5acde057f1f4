import { fstatSync } from 'node:fs';
import { type DestinationStream, pino } from 'pino';

/** The maximum backlog of a standard output that accepts nothing; later lines are lost. */
const maxBacklogCharacters = 8 * 1024 * 1024;

/** Lines that this process could not write to its standard output. */
let lostLines = 0;

/** Returns how many log lines standard output has lost since the start. */
export function lostLogLines(): number {
  return lostLines;
}

/** Bytes of lines that a file did not take: they are lost if the process ends before it has room again. */
let waitingForFile = 0;

/** Returns how many bytes of log lines standard output has not taken yet. */
export function waitingLogBytes(): number {
  return process.stdout.writableLength + waitingForFile;
}

function lose(lines: string | Buffer): void {
  lostLines += lines.toString().split('\n').length - 1;
}

/**
 * Standard output as the destination of a log. If it cannot be written (a full disk, a reader that is closed or reads nothing), lines are
 * lost and counted, but the process continues and never waits.
 */
export function standardOutput(): DestinationStream {
  const found = fstatSync(1);
  return perTurn(found.isFIFO() || found.isSocket() ? toReader() : toFile());
}

/** A reader may stop reading at any time. Node writes to it without blocking; a blocking write would hold the whole process. */
function toReader(): DestinationStream {
  const { stdout } = process;
  // The second log of a process must not warn of too many listeners, and needs no listener of its own.
  if (stdout.listenerCount('error') === 0) stdout.on('error', () => undefined);
  return {
    write(lines) {
      if (stdout.writableLength + lines.length > maxBacklogCharacters) lose(lines);
      else stdout.write(lines, (error) => error && lose(lines));
    },
  };
}

/** A file, or a terminal. Unlike Node's own stream, this one writes again when the disk has space again. */
function toFile(): DestinationStream {
  // As bytes: a text would be encoded three times, to measure it, to write it and to find what is left.
  const output = pino.destination({ dest: 1, sync: true, maxLength: maxBacklogCharacters, contentMode: 'buffer' });
  output.on('error', () => undefined);
  // Its types declare only texts.
  output.on('drop', (lines: string | Buffer) => {
    waitingForFile -= lines.length;
    lose(lines);
  });
  output.on('drain', () => {
    waitingForFile = 0;
  });
  const write = output.write.bind(output) as unknown as (bytes: Buffer) => boolean;
  return {
    write(lines) {
      const bytes = Buffer.from(lines);
      waitingForFile += bytes.length;
      write(bytes);
    },
  };
}

/**
 * Writes all lines of one turn of the event loop together at its end. Under load, one system call serves dozens of lines; without load, no
 * line waits. If the process ends by itself, even by an uncaught error, the lines of its last turn are written first.
 */
export function perTurn(destination: DestinationStream): DestinationStream {
  let waiting = '';
  function flush(): void {
    const lines = waiting;
    waiting = '';
    if (lines !== '') destination.write(lines);
  }
  process.once('exit', flush);
  return {
    write(line) {
      if (waiting === '') setImmediate(flush);
      waiting += line;
    },
  };
}
