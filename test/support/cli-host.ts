import { Readable } from 'node:stream';
import type { CliCommand } from './run-cli.js';

/* A process that runs commands of the program, one after another, each with an environment, standard input and standard output of its own. */

const program = new URL('../../program/program.js', import.meta.url).href;
const { runCli } = (await import(program)) as typeof import('../../src/cli/program.js');

const output = { stdout: '', stderr: '' };
for (const name of ['stdout', 'stderr'] as const) {
  process[name].write = (text: string | Uint8Array, ...more: unknown[]): boolean => {
    output[name] += typeof text === 'string' ? text : Buffer.from(text).toString();
    const written = more.at(-1);
    if (typeof written === 'function') written();
    return true;
  };
}

process.on('message', ({ args, env, input }: CliCommand) => {
  output.stdout = '';
  output.stderr = '';
  process.env = { ...env };
  Object.defineProperty(process, 'stdin', { value: Readable.from(input === '' ? [] : [Buffer.from(input)]), configurable: true });
  void runCli(args).then((exitCode) => process.send?.({ exitCode, ...output }));
});
