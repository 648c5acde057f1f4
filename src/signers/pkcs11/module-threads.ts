import { statSync } from 'node:fs';
import { endsWithin, startDeadline } from '../../core/work/abort.js';
import { later } from '../../core/work/later.js';
import { ProviderError, type ProviderLimits } from '../hosted/key-provider.js';
import type { FoundToken, KeyPlace, ThreadAnswer, ThreadTask, TokenPlace } from './thread-messages.js';
import { createThreadPool, type Thread } from './thread-pool.js';
import { createTokenLogins } from './token-logins.js';

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

/** By the library, for two paths of one file are one library to the process, with the same sessions and logins. */
const modules = new Map<string, { readonly threads: OwnThreads; users: number }>();
/** Libraries whose threads are closing, each with the end of these threads. */
const ending = new Map<string, Promise<unknown>>();
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

/** `earlier`: the end of threads that called the library before. */
function createModuleThreads(
  modulePath: string,
  library: string,
  limits: ProviderLimits,
  earlier: Promise<unknown> = Promise.resolve(),
): OwnThreads {
  const pool = createThreadPool(modulePath, limits.parallel);
  const logins = createTokenLogins(library);
  /** Initializing the module again ends its sessions first. */
  let wasInitialized = false;
  let generation = 0;
  let preparing: Promise<void> | null = null;
  let isClosing = false;
  const ended = later<void>();

  /** Takes a thread for a call. While the threads close, none may begin: the module would run it while it is finalized, and crash. */
  async function threadForCall(signal: AbortSignal): Promise<Thread> {
    const thread = await pool.take(signal);
    if (!isClosing) return thread;
    pool.release(thread);
    throw new ProviderError('unreachable', 'the signer is closed');
  }

  /**
   * Initializes the module and logs in. Only one call at a time does this, and no signature is under way, since initializing ends all
   * sessions.
   */
  async function prepare(place: TokenPlace, pin: string, signal: AbortSignal): Promise<void> {
    if (!logins.isInitialized()) {
      if (!(await endsWithin(earlier, prepareMs))) throw new ProviderError('unreachable', 'an earlier call of the module has not returned');
      const again = wasInitialized;
      const thread = again ? await pool.takeAll(signal) : await threadForCall(signal);
      generation += 1;
      logins.forgetPlaces();
      wasInitialized = true;
      requireDone(await send(thread, { kind: 'initialize', again }), generation);
      logins.initialized();
    }
    const token = await find(place, signal);
    logins.requireUsablePin(token, pin);
    if (!logins.isLoggedIn(token)) {
      const answer = await send(await threadForCall(signal), { kind: 'login', token: place, pin });
      if ('problem' in answer && answer.problem === 'pin') logins.rejected(token, pin);
      requireDone(answer, generation);
      logins.loggedIn(token, pin);
    }
    logins.found(place, token);
  }

  function send(thread: Thread, task: ThreadTask): Promise<ThreadAnswer> {
    return pool.send(thread, { ...task, generation });
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
    if (answer.problem === 'lost' && askedAt === generation) logins.lost();
    throw errorFrom(answer.problem, answer.message);
  }

  /** Logs out when no call is under way any more, and ends the threads. */
  async function end(): Promise<void> {
    if (wasInitialized) await send(await pool.takeAll(new AbortController().signal), { kind: 'finalize' });
    await pool.end();
  }

  return {
    limits,
    async call(task, pin, signal) {
      const { tokenLabel, slot } = task.key;
      const place = { tokenLabel, slot };
      const isReady = (): boolean => preparing === null && logins.isReady(place);
      for (;;) {
        if (isClosing) throw new ProviderError('unreachable', 'the signer is closed');
        logins.requireUsablePin(place, pin);
        if (isReady()) {
          const thread = await threadForCall(signal);
          if (isReady()) {
            const askedAt = generation;
            const answer = await send(thread, task);
            requireDone(answer, askedAt);
            return answer;
          }
          pool.release(thread);
          continue;
        }
        if (preparing !== null) {
          // For another call, whose token may be away or reject its PIN. That says nothing about this one.
          await preparing.catch(() => undefined);
          if (signal.aborted) throw new ProviderError('unreachable', 'the HSM does not answer');
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
    ended: ended.promise,
    async close() {
      isClosing = true;
      // A module that never returns keeps its thread, and the end of a process waits for all its threads. Nothing else is left to do then.
      const endAtOnce = (): void => void process.kill(process.pid, 'SIGKILL');
      process.once('exit', endAtOnce);
      const finished = end().then(() => {
        process.removeListener('exit', endAtOnce);
        ended.resolve();
      });
      // What takes longer is done when the module returns.
      await endsWithin(finished, patienceMs);
      pool.unref();
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
