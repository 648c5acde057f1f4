import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { programFile } from './program-file.js';
import type { ServiceHome } from './service.js';

/** A service whose log goes through a pipe, as under a log collector. */
export interface PipedService {
  readonly pid: number;
  readonly baseUrl: string;
  /** Its exit code and signal, once it has ended. */
  readonly exited: Promise<readonly [code: number | null, signal: NodeJS.Signals | null]>;
  /** What was read of the log. */
  output(): string;
  /** The reader stops reading, and does not close the pipe. */
  stall(): void;
  kill(signal: NodeJS.Signals): void;
}

/** Starts the service in this home, and resolves when it listens. */
export async function startPipedService(home: ServiceHome, env: Readonly<Record<string, string>> = {}): Promise<PipedService> {
  const path = join(home.dir, `log-${process.hrtime.bigint()}`);
  execFileSync('mkfifo', [path]);
  const reader = new Socket({ fd: openSync(path, constants.O_RDONLY | constants.O_NONBLOCK), readable: true, writable: false });
  const end = openSync(path, 'w');
  const child = spawn(process.execPath, [programFile, 'serve'], {
    env: { PATH: process.env.PATH, ...home.env, ...env },
    stdio: ['ignore', end, 'inherit'],
  });
  closeSync(end);
  const stopWithUs = (): void => void child.kill('SIGKILL');
  process.once('exit', stopWithUs);
  const exited = once(child, 'exit').then(([code, signal]) => {
    process.removeListener('exit', stopWithUs);
    reader.destroy();
    return [code, signal] as const;
  });
  let output = '';
  reader.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  const portIn = (): string | undefined => /"port":(\d+),.*"msg":"listening"/.exec(output)?.[1];
  while (portIn() === undefined) {
    const next = await Promise.race([once(reader, 'data').then(() => null), exited]);
    if (next !== null && portIn() === undefined) throw new Error(`the service ended with ${next[0]} before it listened:\n${output}`);
  }
  return {
    pid: child.pid ?? 0,
    baseUrl: `http://127.0.0.1:${portIn()}`,
    exited,
    output: () => output,
    stall: () => void reader.pause(),
    kill: (signal) => void child.kill(signal),
  };
}
