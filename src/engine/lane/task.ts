import { isUnavailable } from '../../core/errors/unavailable.js';
import type { Head } from '../../core/ports/chain/head.js';
import { ConflictError } from '../../core/ports/store/change.js';
import type { Log } from '../../core/work/log.js';
import { signerAwayError } from './signer-away.js';

/** The first retry of a failed task comes after this time, each further one after twice the last. */
const firstRetryMs = 250;
const maxRetryMs = 10_000;

/** The dependencies of a task. */
export interface TaskDeps {
  readonly log: Log;
  readonly clock: { elapsedMs(): number };
  readonly relayerId: () => string;
  /** How often the database has returned: what failed before a return is tried again at once. */
  readonly returns: () => number;
}

/** Logs a failed task. What nodes, signers and other changes cause is no error of the service. */
export function logFailure(log: Log, facts: { readonly relayer: string; readonly task: string }, error: unknown): void {
  // The state was read again, and the next run decides again.
  if (error instanceof ConflictError) return;
  const detail = error instanceof Error ? error.message : String(error);
  if (isUnavailable(error)) log.warn({ ...facts, detail }, `lane task "${facts.task}" got no answer from an RPC node; retrying`);
  else if (signerAwayError(error) !== null) log.warn({ ...facts, detail }, `lane task "${facts.task}" got no signature; retrying`);
  else log.error({ ...facts, err: error }, `lane task "${facts.task}" failed; retrying`);
}

/** Makes a task of a lane. */
export type MakeTask = <A extends readonly unknown[]>(name: string, work: (...args: A) => Promise<void>) => (...args: A) => Promise<void>;

/**
 * Makes a task that runs once at each head, and at the same one again after this time. What it counts, it counts in heads, so a failed run
 * is not repeated at its head. A call that is left out is no success: one after each failure would end the growing delay.
 */
export function createHeadTask(
  make: MakeTask,
  name: string,
  work: (head: Head) => Promise<void>,
  { clock, againAfterMs = Number.POSITIVE_INFINITY }: Pick<TaskDeps, 'clock'> & { readonly againAfterMs?: number | undefined },
): (head: Head) => Promise<void> {
  let last: { readonly hash: string; readonly atMs: number } | null = null;
  const run = make(name, (head: Head) => {
    last = { hash: head.hash, atMs: clock.elapsedMs() };
    return work(head);
  });
  return async (head) => {
    if (head.hash !== last?.hash || clock.elapsedMs() - last.atMs >= againAfterMs) await run(head);
  };
}

/** Returns what makes the tasks of one lane. */
export function createTaskMaker(deps: TaskDeps): MakeTask {
  return (name, work) => createTask(name, deps, work);
}

/**
 * Makes a task: work that a lane repeats, with its own error handling. A failure is logged once, delays the next run, and never reaches the
 * caller, so that it stops no other task.
 */
export function createTask<A extends readonly unknown[]>(
  name: string,
  deps: TaskDeps,
  work: (...args: A) => Promise<void>,
): (...args: A) => Promise<void> {
  let failures = 0;
  let notBeforeMs = 0;
  let failedAtReturn = 0;
  let reported: string | null = null;

  return async (...args) => {
    const { log, clock, relayerId, returns } = deps;
    if (failures > 0 && returns() !== failedAtReturn) failures = 0;
    if (failures > 0 && clock.elapsedMs() < notBeforeMs) return;
    try {
      await work(...args);
    } catch (error) {
      failures += 1;
      failedAtReturn = returns();
      notBeforeMs = clock.elapsedMs() + Math.min(maxRetryMs, firstRetryMs * 2 ** (failures - 1));
      if (error instanceof ConflictError) return;
      const detail = error instanceof Error ? error.message : String(error);
      if (reported === detail) return;
      reported = detail;
      logFailure(log, { relayer: relayerId(), task: name }, error);
      return;
    }
    if (reported !== null) log.info({ relayer: relayerId(), task: name }, `lane task "${name}" succeeds again`);
    failures = 0;
    reported = null;
  };
}
