import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { CliError } from '../cli-error.js';

/** A program of the test suite that runs as a child of the sandbox. */
export interface TestProgram {
  /** The first line of its output, which it prints when it is ready. */
  readonly firstLine: string;
  stop(): Promise<void>;
}

/**
 * Starts a program of the test suite and resolves when it is ready. `file` is relative to the package's folder. Resolves with null if the program is not
 * installed, as without the development dependencies. It ends with this process, even after a SIGKILL.
 */
export async function startTestProgram(file: string, args: readonly string[]): Promise<TestProgram | null> {
  const found = locate(file);
  if (found === null) return null;
  const child = spawn(process.execPath, ['--import', found.tsx, found.file, '--until-stdin-ends', ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const stop = killerOf(child);
  const firstLine = await new Promise<string>((resolve, reject) => {
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      const [line = '', ...rest] = output.split('\n');
      if (rest.length > 0) resolve(line);
    });
    child.once('error', reject);
    child.once('exit', (code) => reject(new CliError(`${file} ended with exit code ${code} before it was ready`)));
  });
  return { firstLine, stop };
}

/** Returns a function that kills a local chain, which has no state to save, and waits for its end. */
export function killerOf(child: ChildProcess): () => Promise<void> {
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  return async () => {
    child.kill('SIGKILL');
    await ended;
  };
}

/** Finds the program from the package's folder, which is one level higher in a build. */
function locate(file: string): { readonly file: string; readonly tsx: string } | null {
  const above = ['../../../', '../../../../'].map((up) => new URL(up, import.meta.url));
  const root = above.find((folder) => existsSync(new URL('package.json', folder)));
  if (root === undefined || !existsSync(new URL(file, root))) return null;
  try {
    const tsx = createRequire(root).resolve('tsx');
    return { file: fileURLToPath(new URL(file, root)), tsx: pathToFileURL(tsx).href };
  } catch {
    return null;
  }
}
