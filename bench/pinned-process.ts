import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

/** Servers have this core and callers the other, so that neither slows the other down. */
export type Core = 0 | 1;

const canPin = availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0;

/** Returns a command line that runs this one on one core, if the machine supports that. It stays one process: taskset becomes the command. */
export function pinned(core: Core, command: readonly string[]): readonly [string, ...string[]] {
  const [program = '', ...args] = command;
  return canPin ? ['taskset', '-c', String(core), program, ...args] : [program, ...args];
}
