import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Job, Sample } from './job.js';

/** Runs jobs, one after another, in a process of its own. */
export interface LoadGenerator {
  /** Rejects if an answer is not a success. */
  run(job: Job): Promise<Sample>;
  stop(): void;
}

/** Starts it by this command line prefix, which may pin it to a core. */
export function startLoadGenerator(prefix: readonly string[]): LoadGenerator {
  const [program = process.execPath, ...before] = prefix;
  const child = fork(fileURLToPath(new URL('main.js', import.meta.url)), {
    execPath: program,
    execArgv: before,
    serialization: 'advanced',
  });
  return {
    async run(job) {
      child.send(job);
      const [answer] = (await once(child, 'message')) as [{ readonly sample: Sample } | { readonly failure: string }];
      if ('failure' in answer) throw new Error(answer.failure);
      return answer.sample;
    },
    stop: () => void child.kill(),
  };
}
