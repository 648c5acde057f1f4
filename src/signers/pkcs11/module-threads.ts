import { Worker } from 'node:worker_threads';
import { ProviderError, type ProviderLimits } from '../hosted/key-provider.js';
import type { KeyPlace, ThreadAnswer, ThreadRequest, ThreadTask, TokenPlace } from './thread-messages.js';

/** The threads that call one module, which all signers of the module share. */
export interface ModuleThreads {
  readonly limits: ProviderLimits;
  /** Does a task with a key of a token, logging in before if needed. Throws `ProviderError`. */
  call(task: Extract<ThreadTask, { readonly key: KeyPlace }>, pin: string, signal: AbortSignal): Promise<ThreadAnswer>;
  /** Ends the threads when every signer of the module has closed. */
  close(): Promise<void>;
}

/** Calls at once, each in a thread. Small HSMs do 10 to 100 signatures per second, and more threads would only wait in the module. */
const defaults: ProviderLimits = { parallel: 4, perSecond: 1_000 };

/** How long closing waits for calls that are under way. */
const patienceMs = 500;

const name = 'the HSM';
const modules = new Map<string, { readonly threads: ModuleThreads; users: number }>();

/** Returns the threads of a module; the first call starts them, with its limits. */
export function openModuleThreads(modulePath: string, configured: Partial<ProviderLimits>): ModuleThreads {
  const known = modules.get(modulePath) ?? { threads: createModuleThreads(modulePath, { ...defaults, ...configured }), users: 0 };
  modules.set(modulePath, known);
  known.users += 1;
  let isClosed = false;
  return {
    limits: known.threads.limits,
    call: known.threads.call,
    async close() {
      if (isClosed) return;
      isClosed = true;
      known.users -= 1;
      if (known.users > 0) return;
      modules.delete(modulePath);
      await known.threads.close();
    },
  };
}

interface Thread {
  readonly worker: Worker;
  answered: ((answer: ThreadAnswer) => void) | null;
}

function createModuleThreads(modulePath: string, limits: ProviderLimits): ModuleThreads {
  const idle: Thread[] = [];
  const waiting: ((thread: Thread) => void)[] = [];
  const all = new Set<Thread>();
  /** Tokens that the process is logged in to, each with the PIN of that login; null: the module must be initialized first. */
  let loggedIn: Map<string, string> | null = null;
  let isInitialized = false;
  let generation = 0;
  let preparing: Promise<void> | null = null;
  /** Tokens, each with the PINs that it rejected. They are not sent again, since tokens lock after a few wrong ones. */
  const rejectedPins = new Map<string, Set<string>>();

  function start(): Thread {
    const worker = new Worker(new URL('./thread.js', import.meta.url), { workerData: modulePath });
    worker.unref();
    const thread: Thread = { worker, answered: null };
    all.add(thread);
    const fail = (error: unknown): void => {
      all.delete(thread);
      thread.answered?.({ problem: 'lost', message: `the thread ended: ${error instanceof Error ? error.message : error}` });
    };
    worker.on('message', (answer: ThreadAnswer) => thread.answered?.(answer));
    worker.on('error', fail);
    worker.on('exit', fail);
    return thread;
  }

  function release(thread: Thread): void {
    if (!all.has(thread)) return;
    const next = waiting.shift();
    if (next === undefined) idle.push(thread);
    else next(thread);
  }

  function idleThread(signal: AbortSignal): Promise<Thread> {
    const thread = idle.pop() ?? (all.size < limits.parallel ? start() : undefined);
    if (thread !== undefined) return Promise.resolve(thread);
    return new Promise((resolve, reject) => {
      const take = (free: Thread): void => {
        signal.removeEventListener('abort', leave);
        resolve(free);
      };
      const leave = (): void => {
        waiting.splice(waiting.indexOf(take), 1);
        reject(new ProviderError('unreachable', `${name} does not answer`));
      };
      if (signal.aborted) leave();
      else {
        signal.addEventListener('abort', leave, { once: true });
        waiting.push(take);
      }
    });
  }

  /** A call that its caller gave up still keeps its thread until the module returns. */
  function send(thread: Thread, task: ThreadTask): Promise<ThreadAnswer> {
    return new Promise((resolve) => {
      // The process must not end while a call waits for an answer.
      thread.worker.ref();
      thread.answered = (answer) => {
        thread.answered = null;
        thread.worker.unref();
        release(thread);
        resolve(answer);
      };
      thread.worker.postMessage({ ...task, generation } satisfies ThreadRequest);
    });
  }

  /** Initializes the module and logs in. Only one call at a time does this, and no signature is under way, since initializing ends all sessions. */
  async function prepare(token: TokenPlace, tokenText: string, pin: string): Promise<void> {
    const signal = AbortSignal.timeout(10_000);
    if (loggedIn === null) {
      const again = isInitialized;
      const held: Thread[] = [];
      // All threads must be idle, for the sessions of the others end too.
      while (again && held.length < all.size) held.push(await idleThread(signal));
      const first = held.pop();
      for (const thread of held) release(thread);
      generation += 1;
      requireDone(await send(first ?? (await idleThread(signal)), { kind: 'initialize', again }), generation);
      isInitialized = true;
      loggedIn = new Map();
    }
    const answer = await send(await idleThread(signal), { kind: 'login', token, pin });
    if ('problem' in answer && answer.problem === 'pin') rejectedPins.set(tokenText, (rejectedPins.get(tokenText) ?? new Set()).add(pin));
    requireDone(answer, generation);
    loggedIn?.set(tokenText, pin);
  }

  /** `askedAt`: the generation in which the task was sent. A session that was lost in an earlier one was initialized since. */
  function requireDone(answer: ThreadAnswer, askedAt: number): void {
    if (!('problem' in answer)) return;
    if (answer.problem === 'lost' && askedAt === generation) loggedIn = null;
    throw errorFrom(answer.problem, answer.message);
  }

  function isReady(tokenText: string): boolean {
    return preparing === null && loggedIn?.has(tokenText) === true;
  }

  /** A login is for the whole process, so without this check a wrong PIN would do while another signer of the token is logged in. */
  function requireUsablePin(tokenText: string, pin: string): void {
    if (rejectedPins.get(tokenText)?.has(pin))
      throw new ProviderError(
        'refused',
        'the token rejected the PIN; it is not sent again before a restart, since tokens lock after wrong PINs',
      );
    const used = loggedIn?.get(tokenText);
    if (used !== undefined && used !== pin)
      throw new ProviderError(
        'refused',
        'another signer is logged in to the token with another PIN; all signers of a token need the same PIN',
      );
  }

  return {
    limits,
    async call(task, pin, signal) {
      const { tokenLabel, slot } = task.key;
      const token = { tokenLabel, slot };
      const tokenText = JSON.stringify(token);
      for (;;) {
        requireUsablePin(tokenText, pin);
        if (isReady(tokenText)) {
          const thread = await idleThread(signal);
          if (isReady(tokenText)) {
            const askedAt = generation;
            const answer = await send(thread, task);
            requireDone(answer, askedAt);
            return answer;
          }
          release(thread);
          continue;
        }
        if (preparing !== null) {
          // For another call, whose token may be away or reject its PIN. That says nothing about this one.
          await preparing.catch(() => undefined);
          if (signal.aborted) throw new ProviderError('unreachable', `${name} does not answer`);
          continue;
        }
        preparing = prepare(token, tokenText, pin).finally(() => {
          preparing = null;
        });
        await preparing;
      }
    },
    async close() {
      // A module that never returns keeps its thread, and the end of a process waits for all its threads. Nothing else is left to do then.
      const endAtOnce = (): void => void process.kill(process.pid, 'SIGKILL');
      process.once('exit', endAtOnce);
      const workers = [...all].map(({ worker }) => worker);
      const ended = Promise.all(workers.map((worker) => worker.terminate())).then(() => process.removeListener('exit', endAtOnce));
      let stopTimer = (): void => undefined;
      const patience = new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, patienceMs);
        stopTimer = () => clearTimeout(timer);
      });
      await Promise.race([ended, patience]).finally(stopTimer);
      for (const worker of workers) worker.unref();
    },
  };
}

function errorFrom(problem: Extract<ThreadAnswer, { problem: unknown }>['problem'], message: string): ProviderError {
  switch (problem) {
    case 'pin':
      return new ProviderError('refused', `the token rejects the PIN: ${message}`);
    case 'refused':
      return new ProviderError('refused', message);
    case 'missing':
      return new ProviderError(
        'refused',
        `the module cannot be loaded, or the package pkcs11js is missing (it is built by npm ci, with a C++ compiler): ${message}`,
      );
    case 'lost':
      return new ProviderError('unreachable', message);
  }
}
