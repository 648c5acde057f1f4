import pg from 'pg';
import { ConflictError } from '../../core/ports/store.js';
import type { BoundChange, Step } from '../bound-change.js';
import type { ChangeList, Outcome } from '../commit-queue.js';

const uniqueViolation = '23505';
/** Error classes that a statement's values cause: data exception, integrity constraint violation, program limit exceeded. */
const classesOfValues = /^(22|23|54)/;

/** A list and its position in the batch. */
interface Entry {
  readonly list: ChangeList;
  readonly index: number;
}

interface Failure {
  readonly entry: Entry;
  readonly error: Error;
}

/** Thrown if the connection was lost before the answer to the commit: the batch may be written. */
export class UnansweredCommitError extends Error {
  override readonly name = 'UnansweredCommitError';
  /** The outcomes of the batch if it is written. */
  readonly outcomes: readonly Outcome[];

  constructor(outcomes: readonly Outcome[], cause: unknown) {
    super(`the database did not answer a commit: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.outcomes = outcomes;
  }
}

/** Thrown if another process has recorded itself as the owner of the database. */
export class NotOwnerError extends Error {
  override readonly name = 'NotOwnerError';

  constructor() {
    super('another process took over the database; only one process can use it');
  }
}

/**
 * Runs a batch as `RunBatch` does. `fence` begins its transaction: if it affects no row, another process owns the database, and nothing is
 * written. Throws UnansweredCommitError, NotOwnerError, or the error because of which nothing is written.
 */
export type RunFencedBatch = (lists: readonly ChangeList[], fence: Step | null) => Promise<readonly Outcome[]>;

function isCausedByValues(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && error.code !== undefined && classesOfValues.test(error.code);
}

/** True if the server says that the commit failed. An error that ends the connection says nothing: the server may have written it. */
function isRefusal(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.severity === 'ERROR';
}

/**
 * Runs batches on a writing connection, which must pipeline: it sends all statements at once in one transaction, and commits after every
 * guard held. If a list fails, it rolls back and runs the transaction again without that list. If another one fails then, it runs the transaction
 * with a savepoint for each list, which costs a round trip for each but only once. So conflicts are for races, not instead of a read.
 */
export function createPostgresBatch(client: pg.Client): RunFencedBatch {
  function send({ statement, values }: Step): Promise<pg.QueryResult> {
    return client.query({ name: statement.name, text: statement.sql, values: [...values] });
  }

  /** Begins the transaction and sends the steps; resolves with their results when all have ended. */
  async function begin(fence: Step | null, steps: readonly Step[]): Promise<PromiseSettledResult<pg.QueryResult>[]> {
    const fences = fence === null ? [] : [fence];
    const [begun, ...results] = await Promise.allSettled([client.query('begin'), ...[...fences, ...steps].map(send)]);
    if (begun.status === 'rejected') throw begun.reason;
    for (const fenced of results.splice(0, fences.length)) {
      if (fenced.status === 'rejected') throw fenced.reason;
      if (fenced.value.rowCount !== 1) throw new NotOwnerError();
    }
    return results;
  }

  /** Only the first failed statement has the reason: after it, PostgreSQL refuses the rest of the transaction. */
  function failureOf(entry: Entry, change: BoundChange, step: Step, result: PromiseSettledResult<pg.QueryResult>): Failure | undefined {
    if (result.status === 'fulfilled') {
      return step.guarded && result.value.rowCount !== 1 ? { entry, error: new ConflictError(change.name) } : undefined;
    }
    const { reason } = result;
    if (!isCausedByValues(reason)) throw reason;
    return { entry, error: reason.code === uniqueViolation ? new ConflictError(change.name) : reason };
  }

  /** Sends all lists and leaves the transaction open; returns the first list that failed. */
  async function runAll(entries: readonly Entry[], fence: Step | null): Promise<Failure | undefined> {
    const sent = entries.flatMap((entry) => entry.list.flatMap((change) => change.steps.map((step) => ({ entry, change, step }))));
    const results = await begin(
      fence,
      sent.map(({ step }) => step),
    );
    for (const [position, { entry, change, step }] of sent.entries()) {
      const failure = failureOf(entry, change, step, results[position] as PromiseSettledResult<pg.QueryResult>);
      if (failure !== undefined) return failure;
    }
    return undefined;
  }

  /** Runs one list in the open transaction, and undoes only this list if it fails. */
  async function runAlone(entry: Entry): Promise<Failure | undefined> {
    const sent = entry.list.flatMap((change) => change.steps.map((step) => ({ change, step })));
    const [begun, ...results] = await Promise.allSettled([client.query('savepoint list'), ...sent.map(({ step }) => send(step))]);
    if (begun.status === 'rejected') throw begun.reason;
    let failure: Failure | undefined;
    for (const [position, { change, step }] of sent.entries())
      failure ??= failureOf(entry, change, step, results[position] as PromiseSettledResult<pg.QueryResult>);
    await client.query(failure === undefined ? 'release savepoint list' : 'rollback to savepoint list; release savepoint list');
    return failure;
  }

  /** Runs every list with a savepoint, and leaves the transaction open. */
  async function runEachAlone(entries: readonly Entry[], fence: Step | null, outcomes: Outcome[]): Promise<void> {
    await begin(fence, []);
    for (const entry of entries) outcomes[entry.index] = (await runAlone(entry))?.error;
  }

  async function rollback(): Promise<void> {
    await client.query('rollback');
  }

  /** Writes the lists; a failed one is absent from the database and has an error as its outcome. */
  async function write(lists: readonly ChangeList[], fence: Step | null): Promise<readonly Outcome[]> {
    const outcomes: Outcome[] = lists.map(() => undefined);
    let entries: readonly Entry[] = lists.map((list, index) => ({ list, index }));
    for (let failures = 0; failures < 2; failures += 1) {
      const failure = await runAll(entries, fence);
      if (failure === undefined) return outcomes;
      await rollback();
      outcomes[failure.entry.index] = failure.error;
      entries = entries.filter((other) => other !== failure.entry);
    }
    await runEachAlone(entries, fence, outcomes);
    return outcomes;
  }

  return async (lists, fence) => {
    let outcomes: readonly Outcome[];
    try {
      outcomes = await write(lists, fence);
    } catch (error) {
      // If the connection is gone, the server has rolled back already; the first error is the one to report.
      await rollback().catch(() => {});
      throw error;
    }
    try {
      await client.query('commit');
    } catch (error) {
      if (isRefusal(error)) throw error;
      throw new UnansweredCommitError(outcomes, error);
    }
    return outcomes;
  };
}
