import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { packageFile } from '../../config/package-version.js';
import { CliError } from '../cli-error.js';

/** A program of the test suite that runs as a child of the sandbox. */
export interface TestProgram {
  /** The first line of its output, which it prints when it is ready. */
  readonly firstLine: string;
  stop(): Promise<void>;
}

/**
 * Starts a built program of the test suite and resolves when it is ready. `file` is its source, relative to the package's folder. Resolves with null if
 * the program is not installed, as without the development dependencies. It ends with this process, even after a SIGKILL.
 */
export async function startTestProgram(file: string, args: readonly string[]): Promise<TestProgram | null> {
  const built = builtProgram(file);
  if (built === null) return null;
  const child = spawn(process.execPath, [built, '--until-stdin-ends', ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
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

/** Finds the program in the build. */
function builtProgram(file: string): string | null {
  const built = fileURLToPath(packageFile(`dist/${file.replace(/\.ts$/, '.js')}`));
  if (!existsSync(built)) return null;
  try {
    // A build may outlive the development dependencies (`npm prune --omit=dev`); litesvm is one of them.
    createRequire(import.meta.url).resolve('litesvm');
    return built;
  } catch {
    return null;
  }
}
