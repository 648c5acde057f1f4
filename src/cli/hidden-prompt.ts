import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { CliError } from './cli-error.js';

/** Asks on the terminal and reads a line that is not shown while it is typed. Throws CliError when the user gives up. */
export function hiddenPrompt(question: string): Promise<string> {
  // The line editor echoes what is typed into its output: this one has no ink.
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 });
  process.stderr.write(question);
  return new Promise((resolve, reject) => {
    lines.once('line', (line) => {
      resolve(line);
      lines.close();
    });
    lines.once('SIGINT', () => lines.close());
    lines.once('close', () => {
      process.stderr.write('\n');
      reject(new CliError('interrupted: nothing was written'));
    });
  });
}
