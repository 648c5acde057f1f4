import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Mutant } from './mutate.js';

/** How a run of a program ended. A program that ran too long counts as failed. */
export interface Ran {
  readonly passed: boolean;
  readonly seconds: number;
}

/** A copy of the checkout whose built modules can be changed. */
export interface Workspace {
  readonly folder: string;
  /** Runs a built program, such as `dist/test/core/fees/price.test.js`. */
  run(args: readonly string[], longestSeconds: number, env?: Readonly<Record<string, string>>): Promise<Ran>;
  /** Puts a mutant into the module, runs, and takes it out again. */
  mutated<T>(module: string, mutant: Mutant, run: () => Promise<T>): Promise<T>;
  /** Ends what runs, and removes the copy. */
  remove(): void;
}

/** Everything is a link but the folders of `dist`, so that a module is changed in this workspace alone. */
export function createWorkspace(): Workspace {
  const folder = mkdtempSync(join(tmpdir(), 'relayer-mutants-'));
  for (const entry of readdirSync('.')) if (entry !== 'dist') symlinkSync(resolve(entry), join(folder, entry));
  cpSync('dist', join(folder, 'dist'), { recursive: true, verbatimSymlinks: true, filter: (from) => !from.endsWith('.map') });

  let running: number | undefined;

  return {
    folder,
    async run(args, longestSeconds, env = {}) {
      const started = process.hrtime.bigint();
      // A group of its own, so that what a test has started ends with it.
      const child = spawn(process.execPath, args, { cwd: folder, env: { ...process.env, ...env }, stdio: 'ignore', detached: true });
      running = child.pid;
      const tooLong = setTimeout(() => endGroup(child.pid), longestSeconds * 1000);
      const [status] = (await once(child, 'exit')) as [number | null];
      clearTimeout(tooLong);
      endGroup(child.pid);
      return { passed: status === 0, seconds: Number(process.hrtime.bigint() - started) / 1e9 };
    },
    async mutated(module, { start, end, replacement }, run) {
      const path = join(folder, module);
      const text = readFileSync(path, 'utf8');
      writeFileSync(path, text.slice(0, start) + replacement + text.slice(end));
      try {
        return await run();
      } finally {
        writeFileSync(path, text);
      }
    },
    remove() {
      endGroup(running);
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All of it has ended.
  }
}
