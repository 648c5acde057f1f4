import type { Member, Observer, SharedDatabase } from '../../core/ports/shared-database.js';
import { ConflictError } from '../../core/ports/store/change.js';
import type { DurationClock } from '../../core/work/clock.js';
import type { Log } from '../../core/work/log.js';
import { createInstanceWatch, type InstanceWatch } from './instance-watch.js';

/**
 * How long an instance that may have lost commits by a failover may take to return: it knows what it lost itself, and if it does not
 * return, nothing is signed until an operator has decided.
 */
const defaultReturnPatienceMs = 60_000;
/** Timers may fire a little early. */
const leastBetweenWatchesMs = 200;

/** Finds instances that are gone or stopped responding, and removes them. */
export interface GoneInstances {
  /** Judges the other instances after a look. */
  judge(members: readonly Member[]): Promise<void>;
  /** The looks so far say nothing any more. */
  forget(): void;
}

/** The parts that find gone instances. */
export interface GoneInstancesDeps {
  readonly shared: Pick<SharedDatabase, 'remove'>;
  /** The number of this instance. */
  me(): number;
  /** The connection that looks; null: it was lost. */
  observer(): Pick<Observer, 'end'> | null;
  /** Default: a minute. */
  readonly returnPatienceMs?: number | undefined;
  /** Called after an instance was removed, whose leases are free. */
  readonly onRemoved: () => void;
  readonly clock: Pick<DurationClock, 'elapsedMs'>;
  readonly log: Log;
}

/** Creates the search, which has seen no instance yet. */
export function createGoneInstances({
  shared,
  me,
  observer,
  returnPatienceMs = defaultReturnPatienceMs,
  onRemoved,
  clock,
  log,
}: GoneInstancesDeps): GoneInstances {
  const watches = new Map<number, InstanceWatch>();
  /** Since when instances are gone that may have lost commits by a failover, by number. */
  const goneSinceMs = new Map<number, number>();
  let watchedAtMs = Number.NEGATIVE_INFINITY;

  async function endSilent({ shown, backend }: Member): Promise<void> {
    if (backend === null) return;
    log.warn({ usedByPid: shown.pid, usedByHost: shown.host }, 'another instance stopped responding; terminating its database connection');
    await observer()?.end(backend);
  }

  async function removeGone(member: Member, timeline: number | null): Promise<void> {
    const { number, shown, backend } = member;
    if (backend === null) return;
    const lost = lostBy(member, timeline);
    if (lost !== null) {
      const sinceMs = goneSinceMs.get(number) ?? clock.elapsedMs();
      goneSinceMs.set(number, sinceMs);
      if (clock.elapsedMs() - sinceMs < returnPatienceMs) return;
    }
    try {
      await shared.remove(number, backend, lost);
    } catch (error) {
      // Another instance was faster, or it is back.
      if (error instanceof ConflictError) return;
      throw error;
    }
    log.warn({ usedByPid: shown.pid, usedByHost: shown.host }, 'another instance is gone; taking over its work');
    onRemoved();
  }

  async function enforce(verdict: ReturnType<InstanceWatch['look']>, member: Member, members: readonly Member[]): Promise<void> {
    if (verdict === 'remove') await removeGone(member, members.find(({ number }) => number === me())?.timeline ?? null);
    if (verdict === 'end') await endSilent(member);
  }

  return {
    async judge(members) {
      for (const number of watches.keys()) if (!members.some((member) => member.number === number)) watches.delete(number);
      for (const number of goneSinceMs.keys())
        if (!members.some((member) => member.number === number && !member.isConnected)) goneSinceMs.delete(number);
      // The watches count looks: one that was woken early says nothing more than the look before it.
      if (clock.elapsedMs() - watchedAtMs < leastBetweenWatchesMs) return;
      watchedAtMs = clock.elapsedMs();
      for (const member of members) {
        if (member.number === me()) continue;
        const watch = watches.get(member.number) ?? createInstanceWatch();
        watches.set(member.number, watch);
        await enforce(watch.look(member.isConnected ? member : null), member, members);
      }
    },
    forget() {
      for (const watch of watches.values()) watch.forget();
    },
  };
}

/** Returns what shows that commits of an instance that is gone may be lost; null: nothing does. `now`: the timeline of the database. */
function lostBy({ number, shown, timeline, isSynchronous }: Member, now: number | null): string | null {
  if (timeline === null || now === null || timeline >= now || isSynchronous) return null;
  return `instance ${number} (process ${shown.pid} on host ${shown.host}) did not return after the failover to timeline ${now}; its commits did not wait for a standby, so the last ones may be lost`;
}
