import { StoreAwayError } from '../../core/ports/store/change.js';
import type { Clock } from '../../core/work/clock.js';
import { later } from '../../core/work/later.js';
import type { Log } from '../../core/work/log.js';
import { step } from '../sql/bound-change.js';
import type { SqlValue } from '../sql/statement.js';
import type { instanceStatements, OwnConnection, OwnRow } from '../statements/instances.js';
import { NotOwnerError } from './postgres-batch.js';
import type { LockedWriter } from './postgres-lock.js';

/** A connection that can commit, as far as the record uses it. */
export interface RecordConnection extends Pick<LockedWriter, 'backend' | 'history'> {
  readonly writer: {
    query<R extends object>(sql: string, values: SqlValue[]): Promise<{ readonly rows: readonly R[]; readonly rowCount: number | null }>;
  };
}

/** Thrown while another instance has removed the record of this one. */
export class RemovedError extends StoreAwayError {
  constructor() {
    super('the database is unavailable: another instance took over the work of this instance; rejoining');
  }
}

/** Thrown after the database was found to lack commits that this process had answered. */
export class RewoundError extends StoreAwayError {
  constructor() {
    super('the database is unavailable: it lacks commits that it had answered; run relayer restore');
  }
}

/**
 * The record of this process in the database, and the last batches that it wrote with it. Each batch proves that the record is there and
 * knows them. The record is missing before `taken`; after another instance removed it; and after the database went back in time.
 */
export interface OwnRecord {
  /** Null: there is none. */
  row(): OwnRow | null;
  /** True if this instance has to join again. */
  isRemoved(): boolean;
  /** See `Database.rewind`. */
  rewind(): string | null;
  /** See `Database.lost`. */
  readonly lost: Promise<Error>;
  /** What `lost` resolved with; null: nothing is lost. */
  loss(): Error | null;
  /** Ends the use of the database permanently. Returns the first error that did. */
  lose(error: Error): Error;
  /** A new record was written. */
  taken(row: OwnRow): void;
  /** Throws if this instance has to join again. */
  requireJoined(): void;
  /** Returns the record, and the statement that begins a batch with it. Throws if there is no record. */
  fence(on: RecordConnection): { readonly row: OwnRow; readonly batch: number; readonly statement: ReturnType<typeof step> };
  /** The batch was written. */
  answered(batch: number): void;
  /** Returns why this process may not commit any more, although it is connected. */
  refusal(on: RecordConnection, row: OwnRow): Promise<Error>;
  /**
   * Moves the right to commit to a new connection. Returns the last batch that was written; null: none, or another instance has removed
   * the record. Throws if a process that uses the database alone is not its owner any more.
   */
  moveTo(on: RecordConnection): Promise<number | null>;
}

/** Creates the record of a process that has none yet. */
export function createOwnRecord({
  isShared,
  statements: { beginBatch, lastBatch, lastBatchOfRemoved, returnTo },
  clock,
  log,
}: {
  readonly isShared: boolean;
  readonly statements: Pick<ReturnType<typeof instanceStatements>, 'beginBatch' | 'lastBatch' | 'lastBatchOfRemoved' | 'returnTo'>;
  readonly clock: Clock;
  readonly log: Log;
}): OwnRecord {
  let own: OwnRow | null = null;
  let isRemoved = false;
  /** The last batch of this record that was answered. The database must know it, or a later one without an answer. */
  let answered: number | null = null;
  let begun = 0;
  let rewind: string | null = null;
  let loss: Error | null = null;
  /** The newest timeline of the cluster that this process has used. */
  let newest: { readonly cluster: string | null; readonly timeline: number } | null = null;
  const lost = later<Error>();

  function lose(error: Error): Error {
    loss ??= error;
    lost.resolve(loss);
    return loss;
  }

  /** Another instance has removed the record of this one, which can join again under a new one. */
  function remove(): RemovedError {
    if (!isRemoved) {
      own = null;
      isRemoved = true;
      log.warn({}, 'another instance took over the work of this instance; rejoining');
    }
    return new RemovedError();
  }

  /** Why nothing can be committed until this instance has joined again. */
  function recordMissing(): Error {
    return rewind === null ? new RemovedError() : new RewoundError();
  }

  /** The database went back in time. An instance joins again, and records it for all others; a process that is alone ends. */
  function rewound(evidence: string): Error {
    log.error({ evidence }, 'the database lacks commits that it had answered; signing stops until relayer restore was run');
    if (!isShared) return lose(new RewoundError());
    rewind = evidence;
    own = null;
    isRemoved = true;
    return new RewoundError();
  }

  /** True if this server is on an earlier timeline than one that this process has used: it lacks what was committed there since. */
  function isBehind({ timeline, cluster }: RecordConnection['history']): boolean {
    return timeline !== null && newest !== null && cluster === newest.cluster && timeline < newest.timeline;
  }

  function use({ timeline, cluster }: RecordConnection['history']): void {
    if (timeline !== null) newest = { cluster, timeline };
  }

  async function lastOf(writer: RecordConnection['writer'], row: OwnRow): Promise<{ readonly batch: number | null } | undefined> {
    return (await writer.query<{ batch: number | null }>(lastBatch.sql, lastBatch.bind(row))).rows[0];
  }

  /** True if the last batch that the database knows is an earlier one than that which it answered last. */
  const lacks = (batch: number | null): boolean => (batch ?? 0) < (answered ?? 0);

  /** Why this process may not commit any more, although it is connected or connects again. */
  async function refusal({ writer, history }: RecordConnection, { number, token }: OwnRow): Promise<Error> {
    const row = await lastOf(writer, { number, token });
    const lackingAfter = (batch: number | null): Error =>
      rewound(`instance ${number} committed batch ${answered}, and the database knows batch ${batch} as its last one`);
    if (row !== undefined && lacks(row.batch)) return lackingAfter(row.batch);
    if (!isShared) return lose(new NotOwnerError());
    if (row !== undefined) return remove();
    const { rows: removals } = await writer.query<{ batch: number | null }>(lastBatchOfRemoved.sql, lastBatchOfRemoved.bind({ number }));
    const [removed] = removals;
    // Earlier versions keep no batch of a removed instance.
    if (removed !== undefined) return removed.batch !== null && lacks(removed.batch) ? lackingAfter(removed.batch) : remove();
    return rewound(`instance ${number} is not in the database, and no instance removed it; timeline ${history.timeline}`);
  }

  return {
    row: () => own,
    isRemoved: () => isRemoved,
    rewind: () => rewind,
    lost: lost.promise,
    loss: () => loss,
    lose,
    taken(row) {
      own = row;
      answered = null;
      rewind = null;
      isRemoved = false;
    },
    requireJoined() {
      if (isRemoved) throw recordMissing();
    },
    fence(on) {
      // The return of the connection may have shown that the record is gone.
      if (own === null) throw recordMissing();
      begun += 1;
      use(on.history);
      return { row: own, batch: begun, statement: step(beginBatch, { ...own, ...connectionOf(on), batch: begun, before: answered }) };
    },
    answered(batch) {
      answered = batch;
    },
    refusal,
    async moveTo(on) {
      if (own === null) return null;
      if (isBehind(on.history)) {
        const error = rewound(`the server is on timeline ${on.history.timeline}, and this process has used timeline ${newest?.timeline}`);
        if (!isShared) throw error;
        return null;
      }
      use(on.history);
      const values = returnTo.bind({ ...own, ...connectionOf(on), checked_at_ms: clock.nowMs(), before: answered });
      const { rowCount } = await on.writer.query(returnTo.sql, values);
      // A statement of its own: the move may have waited for a batch of the earlier connection.
      const row = rowCount === 1 ? await lastOf(on.writer, own) : undefined;
      if (row !== undefined) {
        answered = row.batch;
        return row.batch;
      }
      const error = await refusal(on, own);
      if (!isShared) throw error;
      return null;
    },
  };
}

/** Describes a connection as the record names it. */
export function connectionOf({ backend: { pid, started }, history }: Pick<RecordConnection, 'backend' | 'history'>): OwnConnection {
  return { backend_pid: pid, backend_started: started, timeline: history.timeline, is_synchronous: Number(history.isSynchronous) };
}
