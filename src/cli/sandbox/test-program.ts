import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { LocalChainError } from './sandbox-chain.js';

/** A program of the test suite that runs beside the sandbox. */
export interface TestProgram {
  /** The first line that it said, which says that it is ready. */
  readonly said: string;
  stop(): Promise<void>;
}

/**
 * Starts a program of the test suite, a file named from the package's folder, and resolves when it has said that it is ready; null when it is not there, as in
 * an installation without the development dependencies. It ends with this process, however that ends.
 */
export async function startTestProgram(file: string, args: readonly string[]): Promise<TestProgram | null> {
  const found = locate(file);
  if (found === null) return null;
  const child = spawn(process.execPath, ['--import', found.tsx, found.file, '--until-stdin-ends', ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const said = await new Promise<string>((resolve, reject) => {
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      const [line = '', ...rest] = output.split('\n');
      if (rest.length > 0) resolve(line);
    });
    child.once('error', reject);
    child.once('exit', (code) => reject(new LocalChainError(`${file} ended with ${code} before it was ready`)));
  });
  return {
    said,
    async stop() {
      // It keeps nothing that would have to be saved.
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** The package's folder is above this file: one folder further up once it is built. */
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
