import { type DestinationStream, pino } from 'pino';

/** The maximum backlog of a standard output that accepts nothing; later lines are lost. */
const maxBacklogCharacters = 8 * 1024 * 1024;

/** Standard output as the destination of a log. If it cannot be written (a full disk, a closed reader), lines are lost but the process continues. */
export function standardOutput(): DestinationStream {
  const output = pino.destination({ dest: 1, sync: true, maxLength: maxBacklogCharacters });
  output.on('error', () => undefined);
  return perTurn(output);
}

/**
 * Writes all lines of one turn of the event loop together at its end. Under load, one system call serves dozens of lines; without load, no line
 * waits. If the process ends by itself, even by an uncaught error, the lines of its last turn are written first.
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
