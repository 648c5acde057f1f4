import { Worker } from 'node:worker_threads';
import { createQueue } from '../../core/work/queue.js';
import { ProviderError } from '../hosted/key-provider.js';
import type { ThreadAnswer, ThreadRequest } from './thread-messages.js';

/** A thread that calls the module. */
export interface Thread {
  readonly worker: Worker;
  answered: ((answer: ThreadAnswer) => void) | null;
}

/** The threads of a module. A thread is idle, or does one task; it starts when it is needed, and ends with the pool or by a failure. */
export interface ThreadPool {
  /** Takes an idle thread. Throws `ProviderError` if none is free in time. `most`: starts no further thread beyond this many. */
  take(signal: AbortSignal, most?: number): Promise<Thread>;
  /** Takes all threads, and returns one of them; none is idle, since no other call may be under way when sessions end. */
  takeAll(signal: AbortSignal): Promise<Thread>;
  /** Makes a thread idle that was taken and got no task. */
  release(thread: Thread): void;
  /** Gives a task to a taken thread, which is idle again after its answer. A call that its caller gave up still keeps it until then. */
  send(thread: Thread, request: ThreadRequest): Promise<ThreadAnswer>;
  /** Ends the threads. */
  end(): Promise<void>;
  /** Lets the process end although threads are left. */
  unref(): void;
}

/** Creates a pool without threads. */
export function createThreadPool(modulePath: string, parallel: number): ThreadPool {
  const idle: Thread[] = [];
  const waiting = createQueue<Thread>();
  const all = new Set<Thread>();
  let isEnding = false;

  function start(): Thread {
    const worker = new Worker(new URL('./thread.js', import.meta.url), { workerData: modulePath });
    worker.unref();
    const thread: Thread = { worker, answered: null };
    all.add(thread);
    const fail = (error: unknown): void => {
      if (!all.delete(thread)) return;
      if (idle.includes(thread)) idle.splice(idle.indexOf(thread), 1);
      thread.answered?.({ problem: 'lost', message: `the thread ended: ${error instanceof Error ? error.message : error}` });
      if (!isEnding && waiting.size > 0) waiting.serve(start());
    };
    worker.on('message', (answer: ThreadAnswer) => thread.answered?.(answer));
    worker.on('error', fail);
    worker.on('exit', fail);
    return thread;
  }

  function release(thread: Thread): void {
    if (!all.has(thread)) return;
    if (!waiting.serve(thread)) idle.push(thread);
  }

  function take(signal: AbortSignal, most = parallel): Promise<Thread> {
    const thread = idle.pop() ?? (all.size < most ? start() : undefined);
    if (thread !== undefined) return Promise.resolve(thread);
    return waiting.join(signal).catch(() => {
      throw new ProviderError('unreachable', 'the HSM does not answer');
    });
  }

  return {
    take,
    release,
    send(thread, request) {
      return new Promise((resolve) => {
        // The process must not end while a call waits for an answer.
        thread.worker.ref();
        thread.answered = (answer) => {
          thread.answered = null;
          thread.worker.unref();
          release(thread);
          resolve(answer);
        };
        thread.worker.postMessage(request);
      });
    },
    async takeAll(signal) {
      const held: Thread[] = [];
      try {
        do held.push(await take(signal, 1));
        while (held.length < all.size);
        const [first] = held.splice(0, 1);
        if (first === undefined) throw new Error('no thread was started');
        return first;
      } finally {
        for (const thread of held) release(thread);
      }
    },
    async end() {
      isEnding = true;
      await Promise.all([...all].map(({ worker }) => worker.terminate()));
    },
    unref() {
      for (const { worker } of all) worker.unref();
    },
  };
}
