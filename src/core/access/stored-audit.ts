import type { AuditLineChanges, AuditLineReads } from '../ports/store/audit-lines.js';
import { type Change, StoreAwayError } from '../ports/store/change.js';
import { hasChange, type Store, type StoreFor } from '../ports/store/store.js';
import type { Meter } from '../ports/telemetry.js';
import { pause } from '../work/abort.js';
import { type AuditLine, engineKeyId } from '../work/audit-line.js';
import type { Clock } from '../work/clock.js';
import type { Log } from '../work/log.js';
import { type Repeating, repeat } from '../work/repeat.js';
import type { Timers } from '../work/timers.js';

/*
 * The copy of the audit log in the database. Lines wait in memory for up to `gatherMs`, and are stored many at once. The line of a signed
 * attempt is stored by the commit that stores the attempt, so no end of the process takes it away from it.
 *
 * States: *working*; and *failing*, from a commit that failed until one that succeeds. While it fails, lines wait in memory up to a limit,
 * further ones are lost to the copy and counted. The sinks of the audit log have them.
 */

/** How long lines gather before they are stored. */
const gatherMs = 500;
const retryMs = 1_000;
/** Lines that are stored in one commit: it may not hold the event loop long, and each commit waits for the disk. */
const batchSize = 500;
/** Lines that the commit of an attempt stores: more than are about the attempts of one commit. */
const carriedLines = 200;
/** The maximum size of the lines that wait, in characters. */
const maxWaiting = 8 * 1024 * 1024;

/** The dependencies of the stored copy. */
export interface AuditCopyDeps {
  readonly timers: Timers;
  readonly log: Pick<Log, 'error' | 'warn'>;
  readonly meter: Pick<Meter, 'auditLinesUncopied'>;
}

/** The stored copy of the audit log, as this process writes it. */
export interface AuditCopy {
  /** Takes a line. Never throws. */
  keep(line: AuditLine): void;
  /** Returns the same store, whose commits of attempts store their lines. Lines are stored from here on. */
  storedBy<S extends Pick<Store, 'commit' | 'change'>>(store: S): S;
  /** Stores the lines that wait, if the database answers. */
  stop(): Promise<void>;
}

/** Creates the stored copy of the audit log. */
export function createAuditCopy({ timers, log, meter }: AuditCopyDeps): AuditCopy {
  /** Lines of attempts, which wait for the commits of these; and all others. */
  const ofAttempts: AuditLine[] = [];
  const others: AuditLine[] = [];
  let size = 0;
  let lost = 0;
  let isFailing = false;
  let store: Pick<Store, 'commit' | 'change'> | null = null;
  let storing: Promise<void> | null = null;
  let isTimed = false;
  let stopTimer = (): void => undefined;

  function lose(lines: readonly AuditLine[], error: unknown): void {
    if (lost === 0) log.error({ err: error }, 'lines are missing in the stored copy of the audit log; its other copies have them');
    lost += lines.length;
    meter.auditLinesUncopied(lines.length);
  }

  function add(lines: readonly AuditLine[]): void {
    for (const line of lines) {
      const isOfAttempt = line.keyId === engineKeyId;
      // Callers must not take the place of attempts, whose lines are never missing.
      if (size + line.text.length > (isOfAttempt ? 2 : 1) * maxWaiting) {
        lose([line], new Error('too many lines wait'));
        continue;
      }
      size += line.text.length;
      (isOfAttempt ? ofAttempts : others).push(line);
    }
  }

  function taken(lines: readonly AuditLine[]): readonly AuditLine[] {
    for (const { text } of lines) size -= text.length;
    return lines;
  }

  function storeSoon(ms: number): void {
    if (isTimed) return;
    isTimed = true;
    stopTimer = timers.after(ms, () => {
      isTimed = false;
      storing ??= storeWaiting().finally(() => {
        storing = null;
      });
    });
  }

  async function commitLines(to: Pick<Store, 'commit' | 'change'>, lines: readonly AuditLine[]): Promise<void> {
    try {
      await to.commit([to.change.putAuditLines(lines)]);
    } catch (error) {
      if (error instanceof StoreAwayError) throw error;
      // The database refuses one of them: it must not keep the others away.
      if (lines.length === 1) return lose(lines, error);
      for (const line of lines) await commitLines(to, [line]);
    }
  }

  async function storeWaiting(): Promise<void> {
    while (store !== null && ofAttempts.length + others.length > 0) {
      const lines = taken([...ofAttempts.splice(0, batchSize), ...others.splice(0, batchSize)]);
      try {
        await commitLines(store, lines);
        if (isFailing) log.warn({ lost }, 'the copy of the audit log can be stored again');
        isFailing = false;
      } catch (error) {
        // Stored twice is stored once: a line keeps its id.
        add(lines);
        if (!isFailing) log.warn({ err: error }, 'the copy of the audit log cannot be stored; its lines wait in memory');
        isFailing = true;
        storeSoon(retryMs);
        return;
      }
    }
  }

  return {
    keep(line) {
      add([line]);
      storeSoon(gatherMs);
    },
    storedBy(within) {
      store = within;
      storeSoon(gatherMs);
      async function commit(changes: readonly Change[]): Promise<void> {
        if (ofAttempts.length === 0 || !hasChange(changes, 'insertAttempt')) return within.commit(changes);
        // The newest are about these attempts.
        const lines = taken(ofAttempts.splice(-carriedLines));
        try {
          await within.commit([...changes, within.change.putAuditLines(lines)]);
        } catch (error) {
          add(lines);
          storeSoon(gatherMs);
          throw error;
        }
      }
      return { ...within, commit };
    },
    async stop() {
      await storing;
      await storeWaiting();
      stopTimer();
    },
  };
}

/** The dependencies of the retention of the copy. */
export interface AuditRetentionDeps {
  readonly store: StoreFor<AuditLineReads, AuditLineChanges>;
  readonly clock: Clock;
  readonly log: Log;
  /** Lines that were written longer ago are deleted. */
  readonly retentionDays: number;
}

const dayMs = 24 * 60 * 60 * 1000;
const intervalMs = 60 * 60 * 1000;
/** Rows deleted in one commit: few enough that no other commit waits long. */
const deletedAtOnce = 200;
/** A gap between two commits, so that other commits get through. */
const batchGapMs = 20;

/** Starts to delete old lines, now and every hour. */
export function startAuditRetention({ store, clock, log, retentionDays }: AuditRetentionDeps): Repeating {
  const deleteOld = async (signal: AbortSignal): Promise<void> => {
    const beforeMs = clock.nowMs() - retentionDays * dayMs;
    while (!signal.aborted && (await store.read.hasAuditLineBefore(beforeMs))) {
      await store.commit([store.change.deleteAuditLines(beforeMs, deletedAtOnce)]);
      await pause(batchGapMs, signal);
    }
  };
  return repeat(deleteOld, intervalMs, {
    onError: (error) => log.error({ err: error }, 'cannot delete old lines of the stored audit log'),
  });
}
