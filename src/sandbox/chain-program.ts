import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** A local chain that runs as a child of the sandbox. */
export interface ChainProgram {
  /** The first line of its output, which it prints when it is ready. */
  readonly firstLine: string;
  stop(): Promise<void>;
}

/** Starts a built program and resolves when it is ready. It ends with this process, even after a SIGKILL. */
export async function startChainProgram(program: URL, args: readonly string[]): Promise<ChainProgram> {
  const file = fileURLToPath(program);
  const child = spawn(process.execPath, [file, '--until-stdin-ends', ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  const stop = killerOf(child);
  const firstLine = await new Promise<string>((resolve, reject) => {
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      const [line = '', ...rest] = output.split('\n');
      if (rest.length > 0) resolve(line);
    });
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`${file} ended with exit code ${code} before it was ready`)));
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
