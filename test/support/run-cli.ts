import { type ChildProcess, fork, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { programFile } from './program-file.js';

/** How a command ended. */
export interface CliResult {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command for the process that runs commands. */
export interface CliCommand {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly input: string;
}

/** Runs the real program with no environment but this and with this on standard input. */
export function runProgram(args: readonly string[], env: Readonly<Record<string, string>> = {}, input = ''): Promise<CliResult> {
  const child = spawn(process.execPath, [programFile, ...args], { env });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  // A command that does not read its input may be gone before it is written.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode) => resolve({ exitCode, stdout, stderr }));
  });
}

let host: ChildProcess | undefined;
let lastCommand: Promise<unknown> = Promise.resolve();

/** Does what `runProgram` does, in one process for all commands: most of a command's time is its start. Commands run one after another. */
export function runCli(args: readonly string[], env: Readonly<Record<string, string>> = {}, input = ''): Promise<CliResult> {
  const result = lastCommand.then(() => askHost({ args, env, input }));
  lastCommand = result.catch(() => undefined);
  return result;
}

function askHost(command: CliCommand): Promise<CliResult> {
  host ??= fork(fileURLToPath(new URL('./cli-host.js', import.meta.url)), { execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const child = host;
  child.ref();
  child.channel?.ref();
  return new Promise<CliResult>((resolve, reject) => {
    const ended = (code: number | null): void => reject(new Error(`the process of the commands ended with ${code}`));
    child.once('exit', ended);
    child.once('message', (result) => {
      child.removeListener('exit', ended);
      // It ends with this process, and does not keep it.
      child.unref();
      child.channel?.unref();
      resolve(result as CliResult);
    });
    child.send(command);
  });
}
