import { statSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { endsWithin, startDeadline } from '../../core/work/abort.js';
import { createQueue } from '../../core/work/queue.js';
import { ProviderError, type ProviderLimits } from '../hosted/key-provider.js';
import type { FoundToken, KeyPlace, ThreadAnswer, ThreadRequest, ThreadTask, TokenPlace } from './thread-messages.js';

/** The threads that call one module, which all signers of the module share. */
export interface ModuleThreads {
  readonly limits: ProviderLimits;
  /** Does a task with a key of a token, logging in before if needed. Throws `ProviderError`. */
  call(task: Extract<ThreadTask, { readonly key: KeyPlace }>, pin: string, signal: AbortSignal): Promise<ThreadAnswer>;
  /** Ends the threads when every signer of the module has closed. */
  close(): Promise<void>;
}

/** How long initializing and a login may take. */
const prepareMs = 10_000;
/** How long closing waits for calls that are under way, and for the threads. */
const patienceMs = 500;

const name = 'the HSM';
/** By the library, for two paths of one file are one library to the process, with the same sessions and logins. */
const modules = new Map<string, { readonly threads: OwnThreads; users: number }>();
/** Libraries whose threads are closing, each with the end of these threads. */
const ending = new Map<string, Promise<unknown>>();
/**
 * Tokens by library and name, each with the PINs that it rejected since its last login. They are not sent again, since tokens lock after a
 * few wrong ones.
 */
const rejectedPins = new Map<string, Set<string>>();

/** Returns the threads of a module; the first call starts them, with its limits. */
export function openModuleThreads(modulePath: string, limits: ProviderLimits): ModuleThreads {
  const library = libraryAt(modulePath);
  const known = modules.get(library) ?? { threads: createModuleThreads(modulePath, library, limits, ending.get(library)), users: 0 };
  modules.set(library, known);
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
      modules.delete(library);
      const ended = Promise.all([ending.get(library), known.threads.ended]).finally(() => {
        if (ending.get(library) === ended) ending.delete(library);
      });
      ending.set(library, ended);
      await known.threads.close();
    },
  };
}

/** Returns what the loader of libraries tells files apart by. */
function libraryAt(modulePath: string): string {
  try {
    const { dev, ino } = statSync(modulePath, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return modulePath;
  }
}

/** The threads themselves, which one call closes. */
interface OwnThreads extends ModuleThreads {
  /** All threads have ended, which may be long after `close` returned, if the module does not return. */
  readonly ended: Promise<void>;
}

interface Thread {
  readonly worker: Worker;
  answered: ((answer: ThreadAnswer) => void) | null;
}

/** `earlier`: the end of threads that called the library before. */
function createModuleThreads(
  modulePath: string,
  library: string,
  limits: ProviderLimits,
  earlier: Promise<unknown> = Promise.resolve(),
): OwnThreads {
  const idle: Thread[] = [];
  const waiting = createQueue<Thread>();
  const all = new Set<Thread>();
  /** Tokens that the process is logged in to, each with the PIN of that login; null: the module must be initialized first. */
  let loggedIn: Map<string, string> | null = null;
  /** Which token is at a place. */
  let tokens = new Map<string, FoundToken>();
  let isInitialized = false;
  let generation = 0;
  let preparing: Promise<void> | null = null;
  let isClosing = false;
  let isEnding = false;
  let markEnded = (): void => undefined;
  const ended = new Promise<void>((resolve) => {
    markEnded = resolve;
  });

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

  function idleThread(signal: AbortSignal, most = limits.parallel): Promise<Thread> {
    const thread = idle.pop() ?? (all.size < most ? start() : undefined);
    if (thread !== undefined) return Promise.resolve(thread);
    return waiting.join(signal).catch(() => {
      throw new ProviderError('unreachable', `${name} does not answer`);
    });
  }

  /** Takes a thread for a call. While the threads close, none may begin: the module would run it while it is finalized, and crash. */
  async function threadForCall(signal: AbortSignal): Promise<Thread> {
    const thread = await idleThread(signal);
    if (!isClosing) return thread;
    release(thread);
    throw new ProviderError('unreachable', 'the signer is closed');
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

  /** Takes all threads, and returns one of them; none is idle, since no other call may be under way when sessions end. */
  async function allIdle(signal: AbortSignal): Promise<Thread> {
    const held: Thread[] = [];
    try {
      do held.push(await idleThread(signal, 1));
      while (held.length < all.size);
      const [first] = held.splice(0, 1);
      if (first === undefined) throw new Error('no thread was started');
      return first;
    } finally {
      for (const thread of held) release(thread);
    }
  }

  /**
   * Initializes the module and logs in. Only one call at a time does this, and no signature is under way, since initializing ends all
   * sessions.
   */
  async function prepare(place: TokenPlace, pin: string, signal: AbortSignal): Promise<void> {
    if (loggedIn === null) {
      if (!(await endsWithin(earlier, prepareMs))) throw new ProviderError('unreachable', 'an earlier call of the module has not returned');
      const again = isInitialized;
      const thread = again ? await allIdle(signal) : await threadForCall(signal);
      generation += 1;
      tokens = new Map();
      isInitialized = true;
      requireDone(await send(thread, { kind: 'initialize', again }), generation);
      loggedIn = new Map();
    }
    const token = await find(place, signal);
    requireUsablePin(token, pin);
    if (!loggedIn.has(textOf(token))) {
      const answer = await send(await threadForCall(signal), { kind: 'login', token: place, pin });
      if ('problem' in answer && answer.problem === 'pin') rejected(token).add(pin);
      requireDone(answer, generation);
      // The token counts wrong PINs from here on, and the PIN may be changed back.
      rejected(token).clear();
      loggedIn?.set(textOf(token), pin);
    }
    tokens.set(JSON.stringify(place), token);
  }

  async function find(token: TokenPlace, signal: AbortSignal): Promise<FoundToken> {
    const answer = await send(await threadForCall(signal), { kind: 'find', token });
    requireDone(answer, generation);
    if (!('found' in answer)) throw new ProviderError('unreachable', 'the thread returned an answer to another request');
    return answer.found;
  }

  /** `askedAt`: the generation in which the task was sent. A session that was lost in an earlier one was initialized since. */
  function requireDone(answer: ThreadAnswer, askedAt: number): void {
    if (!('problem' in answer)) return;
    if (answer.problem === 'lost' && askedAt === generation) loggedIn = null;
    throw errorFrom(answer.problem, answer.message);
  }

  function isReady(place: string): boolean {
    const token = tokens.get(place);
    return preparing === null && token !== undefined && loggedIn?.has(textOf(token)) === true;
  }

  /** A login is for the whole process, so without this check a wrong PIN would do while another signer of the token is logged in. */
  function requireUsablePin(token: FoundToken, pin: string): void {
    if (rejected(token).has(pin))
      throw new ProviderError(
        'refused',
        'the token rejected the PIN, so the service does not send it again; correct it before you restart the service, since tokens lock after wrong PINs',
      );
    const used = loggedIn?.get(textOf(token));
    if (used !== undefined && used !== pin)
      throw new ProviderError(
        'refused',
        'another signer is logged in to the token with another PIN; all signers of a token need the same PIN',
      );
  }

  function rejected({ name: token }: FoundToken): Set<string> {
    const key = `${library} ${token}`;
    const known = rejectedPins.get(key) ?? new Set();
    rejectedPins.set(key, known);
    return known;
  }

  /** Logs out when no call is under way any more, and ends the threads. */
  async function end(): Promise<void> {
    if (isInitialized) await send(await allIdle(new AbortController().signal), { kind: 'finalize' });
    isEnding = true;
    await Promise.all([...all].map(({ worker }) => worker.terminate()));
  }

  return {
    limits,
    async call(task, pin, signal) {
      const { tokenLabel, slot } = task.key;
      const place = { tokenLabel, slot };
      const placeText = JSON.stringify(place);
      for (;;) {
        if (isClosing) throw new ProviderError('unreachable', 'the signer is closed');
        const token = tokens.get(placeText);
        if (token !== undefined) requireUsablePin(token, pin);
        if (isReady(placeText)) {
          const thread = await threadForCall(signal);
          if (isReady(placeText)) {
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
        const deadline = startDeadline(prepareMs);
        preparing = prepare(place, pin, deadline.signal).finally(() => {
          deadline.clear();
          preparing = null;
        });
        await preparing;
      }
    },
    ended,
    async close() {
      isClosing = true;
      // A module that never returns keeps its thread, and the end of a process waits for all its threads. Nothing else is left to do then.
      const endAtOnce = (): void => void process.kill(process.pid, 'SIGKILL');
      process.once('exit', endAtOnce);
      const finished = end().then(() => {
        process.removeListener('exit', endAtOnce);
        markEnded();
      });
      // What takes longer is done when the module returns.
      await endsWithin(finished, patienceMs);
      for (const { worker } of all) worker.unref();
    },
  };
}

/** What tells tokens apart. A module may offer one token in several slots, each with a PIN of its own. */
function textOf({ slot, name: token }: FoundToken): string {
  return `${slot} ${token}`;
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
