import pg from 'pg';
import { ConflictError } from '../../core/ports/store.js';
import type { BoundChange, Step } from '../bound-change.js';
import type { ChangeList, Outcome, RunBatch } from '../commit-queue.js';

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

function isCausedByValues(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && error.code !== undefined && classesOfValues.test(error.code);
}

/**
 * Runs batches on the writing connection, which must pipeline: it sends all statements at once in one transaction, and commits after every
 * guard held. If a list fails, it rolls back and runs the transaction again without that list. If another one fails then, it runs the transaction
 * with a savepoint for each list, which costs a round trip for each but only once. So conflicts are for races, not instead of a read.
 */
export function createPostgresBatch(client: pg.Client): RunBatch {
  function send({ statement, values }: Step): Promise<pg.QueryResult> {
    return client.query({ name: statement.name, text: statement.sql, values: [...values] });
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
  async function runAll(entries: readonly Entry[]): Promise<Failure | undefined> {
    const sent = entries.flatMap((entry) => entry.list.flatMap((change) => change.steps.map((step) => ({ entry, change, step }))));
    const [begun, ...results] = await Promise.allSettled([client.query('begin'), ...sent.map(({ step }) => send(step))]);
    if (begun.status === 'rejected') throw begun.reason;
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
  async function runEachAlone(entries: readonly Entry[], outcomes: Outcome[]): Promise<void> {
    await client.query('begin');
    for (const entry of entries) outcomes[entry.index] = (await runAlone(entry))?.error;
  }

  async function rollback(): Promise<void> {
    await client.query('rollback');
  }

  /** Writes the lists; a failed one is absent from the database and has an error as its outcome. */
  async function write(lists: readonly ChangeList[]): Promise<readonly Outcome[]> {
    const outcomes: Outcome[] = lists.map(() => undefined);
    let entries: readonly Entry[] = lists.map((list, index) => ({ list, index }));
    for (let failures = 0; failures < 2; failures += 1) {
      const failure = await runAll(entries);
      if (failure === undefined) return outcomes;
      await rollback();
      outcomes[failure.entry.index] = failure.error;
      entries = entries.filter((other) => other !== failure.entry);
    }
    await runEachAlone(entries, outcomes);
    return outcomes;
  }

  return async (lists) => {
    let outcomes: readonly Outcome[];
    try {
      outcomes = await write(lists);
    } catch (error) {
      // If the connection is gone, the server has rolled back already; the first error is the one to report.
      await rollback().catch(() => {});
      throw error;
    }
    await client.query('commit');
    return outcomes;
  };
}
