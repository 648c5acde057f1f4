import type { DestinationStream } from 'pino';

/**
 * Writes the lines of one turn of the event loop together, at its end: under load that is one call of the system for dozens of lines, without
 * load nobody waits. However the process ends by itself, by an uncaught error too, the lines of its last turn are written first.
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
