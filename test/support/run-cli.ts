import { spawn } from 'node:child_process';
import { programFile } from './program-file.js';

/** How a command ended. */
export interface CliResult {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the real program, from the project's folder, with no environment but this and with this on standard input. */
export function runCli(args: readonly string[], env: Readonly<Record<string, string>> = {}, input = ''): Promise<CliResult> {
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
