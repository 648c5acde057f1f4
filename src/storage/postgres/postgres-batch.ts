import pg from 'pg';
import { ConflictError } from '../../core/ports/store/change.js';
import type { ChangeList, Outcome } from '../database/commit-queue.js';
import { type BoundChange, locksOf, type Step } from '../sql/bound-change.js';
import { postgres } from '../sql/dialect.js';
import { changePositionStatements } from '../statements/feed.js';
import { createPipelines, type SentStep, type StepsRun } from './postgres-pipeline.js';
import { withoutWarning } from './postgres-writer.js';

const uniqueViolation = '23505';
const notNullViolation = '23502';
/** The unique constraints whose violation is a conflict. Any other one shows that a sequence is behind its table. */
export const conflictKeys: ReadonlySet<string | undefined> = new Set([
  ...['transactions_id_key', 'transactions_by_ordinal', 'finished_totals_key', 'change_positions_pkey', 'removed_positions_key'],
  ...['external_ids_key', 'transaction_labels_key', 'transaction_receivers_key'],
  ...['attempts_of_transaction', 'attempts_of_slot', 'attempts_unsequenced_by_hash'],
  ...[
    'caller_signatures_key',
    'spend_windows_key',
    'spend_reservations_key',
    'audit_lines_key',
    'lane_nonces_key',
    'chains_pkey',
    'instances_pkey',
    'removed_instances_pkey',
    'batches_key',
    'leases_key',
    'database_ids_pkey',
    'database_secret_pkey',
  ],
  ...['notifications_id_key', 'events_id_key', 'stored_responses_key', 'api_keys_id_key', 'definitions_key', 'file_entries_key'],
]);
/**
 * Error classes because of which a list fails alone: data exception, integrity constraint violation, an object that is missing, program
 * limit exceeded.
 */
const classesOfLists = /^(22|23|42|54)/;

/** Deadlock and serialization failure: the server aborted this transaction to let another one go on. */
const givingWay: ReadonlySet<string | undefined> = new Set(['40P01', '40001']);
/** A batch that had to give way to other writers this often in a row fails. */
const maxGivingWay = 10;

const { lock } = changePositionStatements(postgres.builder);

/** A statement waited too long for a row that another writer has locked, such as one whose process was stopped. */
const lockTimeout = '55P03';
/** A batch that still meets locked rows after this many attempts without the lists that need them fails as a whole. */
const maxLocked = 8;
/** How long such an attempt waits for a lock: its lists have already waited. */
const nextLockTimeoutMs = 500;

/** A statement of a transaction itself. */
function bare(name: string, sql: string): SentStep {
  return { statement: { name, sql }, values: [] };
}

const beginTransaction = bare('begin', 'begin');
const waitLessForLocks = bare('wait_less_for_locks', `set local lock_timeout = ${nextLockTimeoutMs}`);
const setSavepoint = bare('set_savepoint', 'savepoint list');

/** A list and its position in the batch. */
interface Entry {
  readonly list: ChangeList;
  readonly index: number;
  /** The relayers that it needs locked. */
  readonly relayers: ReadonlySet<string>;
}

/** The first steps of a batch's transaction. */
interface Opening {
  readonly fence: Step | null;
  /** Lock the relayers of the batch, by their id. */
  readonly relayerLocks: ReadonlyMap<string, Step>;
  /** A list was left out because another writer holds a lock that it needs. */
  readonly isAfterLock: boolean;
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

/** Thrown if the connection was lost before the commit: nothing of the batch is written. */
export class LostConnectionError extends Error {
  override readonly name = 'LostConnectionError';

  constructor(cause: unknown) {
    super(`the database connection was lost: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

/** Thrown if another process has recorded itself as the owner of the database. */
export class NotOwnerError extends Error {
  override readonly name = 'NotOwnerError';

  constructor() {
    super('another process took over the database; only one process can use it');
  }
}

/** Some lists cannot be written now, because another writer holds a lock that they need. The others can. */
class LockedError extends Error {
  override readonly name = 'LockedError';
  readonly needsLock: (entry: Entry) => boolean;

  constructor(needsLock: (entry: Entry) => boolean, cause: pg.DatabaseError) {
    super(cause.message, { cause });
    this.needsLock = needsLock;
  }
}

/**
 * Runs a batch as `RunBatch` does. `fence` begins its transaction: if it affects no row, another process owns the database, and nothing is
 * written. Throws UnansweredCommitError, LostConnectionError, NotOwnerError, or the error because of which nothing is written.
 */
export type RunFencedBatch = (lists: readonly ChangeList[], fence: Step | null) => Promise<readonly Outcome[]>;

function isLockTimeout(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && error.code === lockTimeout;
}

function isOfList(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && error.code !== undefined && classesOfLists.test(error.code);
}

/** True if a row exists already, or if its relayer is closed, so that its position would be null. */
function isConflict({ code, column, constraint }: pg.DatabaseError): boolean {
  // While an index is rebuilt concurrently, the server may name its copy.
  const key = constraint?.replace(/_cc(?:new|old)\d*$/, '');
  return (code === uniqueViolation && conflictKeys.has(key)) || (code === notNullViolation && column === 'position');
}

/**
 * The outcome of a list whose change met this error. Throws if nothing of the batch can be written because of it, or nothing that waits for
 * a lock.
 */
function outcomeOf(entry: Entry, { name }: BoundChange, error: Error): Error {
  if (isLockTimeout(error)) throw new LockedError((other) => other === entry, error);
  if (!isOfList(error)) throw error;
  return isConflict(error) ? new ConflictError(name) : error;
}

function stepsOf({ list }: Entry): readonly Step[] {
  return list.flatMap(({ steps }) => steps);
}

/** The relayers that a list needs locked. */
function relayersOf(list: ChangeList): ReadonlySet<string> {
  return new Set(list.flatMap(({ relayerId }) => relayerId ?? []));
}

/**
 * Runs batches on a writing connection, which must pipeline: it sends all statements at once in one transaction, and commits after every
 * guard held. If a list fails, it rolls back and runs the transaction again without that list. If another one fails then, it runs the
 * transaction with a savepoint for each list, which costs a round trip for each but only once. So conflicts are for races, not instead of a
 * read.
 *
 * If another writer holds a row locked for too long, the lists that need it fail, and the transaction runs again without them.
 */
export function createPostgresBatch(client: pg.Client): RunFencedBatch {
  const run = createPipelines(client);

  /** Begins the transaction and sends the steps; resolves with their results. */
  async function begin({ fence, relayerLocks, isAfterLock }: Opening, steps: readonly Step[]): Promise<StepsRun> {
    const opening = [beginTransaction, ...(isAfterLock ? [waitLessForLocks] : []), ...(fence === null ? [] : [fence])];
    const before = [...opening, ...relayerLocks.values()];
    const { rowCounts, error } = await run([...before, ...steps]);
    if (fence !== null && rowCounts.length >= opening.length && rowCounts[opening.length - 1] !== 1) throw new NotOwnerError();
    if (error !== null && rowCounts.length < before.length) {
      const relayerId = [...relayerLocks.keys()][rowCounts.length - opening.length];
      if (relayerId !== undefined && isLockTimeout(error)) throw new LockedError(({ relayers }) => relayers.has(relayerId), error);
      throw error;
    }
    return { rowCounts: rowCounts.slice(before.length), error };
  }

  /** Returns the failure of the first list that failed; undefined: all of them can be committed. */
  function firstFailure(entries: readonly Entry[], { rowCounts, error }: StepsRun): Failure | undefined {
    let position = 0;
    for (const entry of entries)
      for (const change of entry.list)
        for (const step of change.steps) {
          const rowCount = rowCounts[position];
          position += 1;
          // The steps before the failed one have a row count.
          if (rowCount === undefined && error !== null) return { entry, error: outcomeOf(entry, change, error) };
          if (step.guarded && rowCount !== 1) return { entry, error: new ConflictError(change.name) };
        }
    // No list is to blame.
    if (error !== null) throw error;
    return undefined;
  }

  /** Sends all lists and leaves the transaction open; returns the first list that failed. */
  async function runAll(entries: readonly Entry[], opening: Opening): Promise<Failure | undefined> {
    return firstFailure(entries, await begin(opening, entries.flatMap(stepsOf)));
  }

  /** Runs one list in the open transaction, and undoes only this list if it fails. */
  async function runAlone(entry: Entry): Promise<Failure | undefined> {
    const { rowCounts, error } = await run([setSavepoint, ...stepsOf(entry)]);
    if (rowCounts.length === 0) throw error;
    const failure = firstFailure([entry], { rowCounts: rowCounts.slice(1), error });
    await client.query(failure === undefined ? 'release savepoint list' : 'rollback to savepoint list; release savepoint list');
    return failure;
  }

  /** Runs every list with a savepoint, and leaves the transaction open. */
  async function runEachAlone(entries: readonly Entry[], opening: Opening, outcomes: Outcome[]): Promise<void> {
    firstFailure([], await begin(opening, []));
    for (const entry of entries) outcomes[entry.index] = (await runAlone(entry))?.error;
  }

  async function rollback(): Promise<void> {
    await client.query('rollback');
  }

  /** Rolls back. False if the connection has ended. The severity of an error would show this too, but the server translates it. */
  function survivesRollback(): Promise<boolean> {
    return rollback().then(
      () => true,
      () => false,
    );
  }

  /** Writes the lists; a failed one is absent from the database and has an error as its outcome, at its position in the batch. */
  async function write(lists: readonly Entry[], opening: Opening): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    let entries = lists;
    for (let failures = 0; failures < 2; failures += 1) {
      const failure = await runAll(entries, opening);
      if (failure === undefined) return outcomes;
      await rollback();
      outcomes[failure.entry.index] = failure.error;
      entries = entries.filter((other) => other !== failure.entry);
    }
    await runEachAlone(entries, opening, outcomes);
    return outcomes;
  }

  /**
   * Writes the lists, and leaves the transaction open: again if other writers made this one give way, and without the lists for which
   * another one holds a lock.
   */
  async function writeAtLast(
    lists: readonly Entry[],
    fence: Step | null,
    relayerLocks: ReadonlyMap<string, Step>,
  ): Promise<readonly Outcome[]> {
    let entries = lists;
    const locked: { readonly index: number; readonly error: Error }[] = [];
    for (let gaveWay = 0, locks = 0; ; ) {
      try {
        const needed = new Map([...relayerLocks].filter(([relayerId]) => entries.some(({ relayers }) => relayers.has(relayerId))));
        const outcomes = await write(entries, { fence, relayerLocks: needed, isAfterLock: locks > 0 });
        for (const { index, error } of locked) outcomes[index] = error;
        return lists.map(({ index }) => outcomes[index]);
      } catch (error) {
        // If the connection is gone, the server has rolled back already; the first error is the one to report.
        if (!(await survivesRollback())) throw new LostConnectionError(error instanceof LockedError ? error.cause : error);
        if (error instanceof LockedError) {
          const { needsLock, cause } = error;
          locks += 1;
          locked.push(...entries.filter(needsLock).map(({ index }) => ({ index, error: cause as Error })));
          entries = entries.filter((entry) => !needsLock(entry));
          if (entries.length === 0 || locks > maxLocked) throw cause;
        } else {
          gaveWay += 1;
          if (!(error instanceof pg.DatabaseError) || !givingWay.has(error.code) || gaveWay > maxGivingWay) throw error;
        }
      }
    }
  }

  return async (lists, fence) => {
    const relayerLocks = locksOf(lists, lock);
    const entries = lists.map((list, index) => ({ list, index, relayers: relayersOf(list) }));
    const outcomes = await writeAtLast(entries, fence, relayerLocks);
    try {
      const { command } = await withoutWarning(client, () => client.query('commit'));
      // To the commit of an aborted transaction, the server answers that it rolled back.
      if (command !== 'COMMIT') throw new Error(`the database answered a commit with ${command}`);
    } catch (error) {
      // After an error that ends the connection, the server may still have written the commit.
      if (error instanceof pg.DatabaseError && (await survivesRollback())) throw error;
      throw new UnansweredCommitError(outcomes, error);
    }
    return outcomes;
  };
}
