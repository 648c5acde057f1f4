import { type DestinationStream, pino } from 'pino';
import { perTurn } from './per-turn.js';

/** So much waits for a standard output that takes nothing; what comes then is lost. */
const greatestBacklogCharacters = 8 * 1024 * 1024;

/** Standard output for a log. One that cannot be written, on a full disk or because its reader is gone, costs lines and never the process. */
export function standardOutput(): DestinationStream {
  const output = pino.destination({ dest: 1, sync: true, maxLength: greatestBacklogCharacters });
  output.on('error', () => undefined);
  return perTurn(output);
}
