import type { InstanceState } from '../../core/ports/instances.js';
import type { Leases } from '../../core/ports/leases.js';
import { allNews, type News } from '../../core/ports/news.js';
import type { SharedDatabase } from '../../core/ports/shared-database.js';
import type { Change } from '../../core/ports/store/change.js';
import { hasChange, type StoreFor } from '../../core/ports/store/store.js';
import type { ConfigFiles } from '../../core/records/config-files.js';
import type { DurationClock } from '../../core/work/clock.js';
import type { Log } from '../../core/work/log.js';
import type { Timers } from '../../core/work/timers.js';
import { whySuperseded } from './conditions.js';
import { createFitness } from './fitness.js';
import { createGoneInstances } from './gone-instances.js';
import { createLeaseShares } from './lease-shares.js';
import { createNewsSender } from './news-sender.js';
import { createRound } from './round.js';
import { createRounds } from './rounds.js';
import { createSeenInstances } from './seen-instances.js';
import { createSharing, type Sharing } from './sharing.js';
import { createSigningHold } from './signing-hold.js';

/** The interval of the rounds after one that failed. */
const afterFailureMs = 250;

/** The instances that share a database, and the work that this one does. */
export interface Members extends Leases, Sharing {
  /** Records this instance. Throws an error for the operator if another one works with other configuration files that are not older. */
  join(): Promise<void>;
  /** Resolves with the reason if this instance must not go on: it does not meet the conditions of a start any more. */
  readonly unfit: Promise<Error>;
  /** Takes note of a commit of this instance, of which the others hear. Returns at once. */
  noteCommitted(changes: readonly Change[]): void;
  /** Ends the connection, after `stop`. */
  close(): Promise<void>;
}

/** The parts that make the members. */
export interface MembersDeps {
  readonly shared: SharedDatabase;
  readonly files: ConfigFiles;
  /** Default: a minute. */
  readonly returnPatienceMs?: number | undefined;
  /** True: nothing is signed while commits do not wait for a standby. */
  readonly requiresStandby?: boolean | undefined;
  /** Why this instance, but no other, must not sign now; null: it may. Absent: it always may. */
  readonly ownObstacle?: (() => string | null) | undefined;
  readonly clock: DurationClock;
  readonly timers: Timers;
  readonly log: Log;
}

/**
 * Creates the members of a database.
 *
 * An instance is a row. Without its row it can commit nothing more, because each of its batches begins with that row. So another instance
 * takes over its work by deleting the row and freeing the leases, in one commit. No clock decides anything.
 */
export function createMembers(deps: MembersDeps): Members {
  const { shared, clock, timers, log } = deps;
  const closing = new AbortController();
  const listeners: ((news: News) => void)[] = [];
  const { requiresStandby = false, ownObstacle = () => null } = deps;
  /** Why this instance hands over its work: another one has newer configuration files. Null: none has. */
  let superseded: string | null = null;
  const hold = createSigningHold({
    requiresStandby,
    ownObstacle: () => superseded ?? ownObstacle(),
    ownRewind: shared.rewind,
    me: () => seen.me(),
    clock,
    log,
  });
  const seen = createSeenInstances({
    shared,
    heard({ news: heard, hasLeases }) {
      if (hasLeases) lookAgain();
      callListeners(heard);
    },
    connected() {
      // This instance may have missed notifications, and failed to send its own to the others.
      news.add(allNews);
      news.addLeases();
      shares.outdate();
      callListeners(allNews);
    },
    looked(look, askedAtMs) {
      const others = look.members.filter(({ number }) => number !== seen.me());
      // When the instances with newer files are gone, this one works again.
      superseded = whySuperseded(deps.files, others);
      hold.note(look, askedAtMs);
    },
    clock,
  });
  const news = createNewsSender({ me: seen.me, observer: seen.observer, timers, closing: closing.signal });
  const shares = createLeaseShares({ leases: shared.leases, me: seen.me, news, lookAgain, clock, log });
  const gone = createGoneInstances({
    shared,
    me: seen.me,
    observer: seen.observer,
    returnPatienceMs: deps.returnPatienceMs,
    clock,
    log,
    onRemoved() {
      shares.outdate();
      news.addLeases();
    },
  });
  const fitness = createFitness({ files: deps.files, me: seen.me, look: seen.peek, conditions: seen.conditions, log });
  const rounds = createRounds({
    round: createRound({ shared, seen, hold, fitness, gone, shares, news, missedNews: () => callListeners(allNews) }),
    everyMs: () => (rounds.isFailing() ? afterFailureMs : seen.paceMs()),
    failed,
    timers,
    log,
  });

  const sharing = createSharing({
    seen,
    shares,
    hold,
    setState,
    nextRound,
    onNews: (listener) => void listeners.push(listener),
    superseded: () => superseded,
  });

  shared.onReturn(() => {
    fitness.returned();
    // What this instance could not tell, because it did not know whether its last commits were written.
    news.add(allNews);
    news.send();
  });

  function callListeners(heard: News): void {
    for (const listener of listeners) listener(heard);
  }

  /** Makes the next look come at once, which reads the leases. */
  function lookAgain(): void {
    shares.outdate();
    rounds.wake();
  }

  async function failed(): Promise<void> {
    gone.forget();
    shares.outdate();
    await seen.disconnect();
  }

  /** Resolves after the next round, which reads the leases. */
  function nextRound(): Promise<void> {
    shares.outdate();
    return rounds.next();
  }

  async function setState(number: number, state: InstanceState): Promise<void> {
    await shared.setState(number, state);
    news.addLeases();
    news.send();
  }

  return {
    join: () =>
      seen.joinFirst(async () => {
        hold.requireUsableServer();
        await fitness.requireAtStart();
      }),
    unfit: fitness.unfit,
    async start() {
      shares.outdate();
      await rounds.start();
    },
    async add(kind, added) {
      await shares.add(kind, added);
      if (rounds.isStarted()) await nextRound();
    },
    note: shares.note,
    remove: (kind, key) => rounds.between(() => shares.remove(kind, key)),
    async stop() {
      // What this instance has found is in no row before it has joined again, and no other instance finds it.
      if (hold.rewind() !== null && hold.unrecordedRewind() !== null && rounds.isStarted()) await rounds.next();
      await rounds.stop();
      // No instance counts on this one any more.
      await setState(seen.me(), 'draining').catch(() => undefined);
      await shares.giveAll();
    },
    ...sharing,
    held: () => shares.heldBy(seen.me()),
    noteCommitted(changes) {
      if (hasChange(changes, 'recordRewind')) {
        hold.noteRewind('a transaction that no stored attempt explains did what an open one asks for');
        lookAgain();
      }
      // There is no other instance.
      if (seen.members().length < 2) return;
      news.add(shared.newsOf(changes));
      news.send();
    },
    async close() {
      closing.abort();
      await seen.disconnect();
    },
  };
}

/** Returns the same store, which tells the other instances of each commit. */
export function telling<S extends Pick<StoreFor<unknown>, 'commit'>>(store: S, { noteCommitted }: Pick<Members, 'noteCommitted'>): S {
  return {
    ...store,
    async commit(changes) {
      await store.commit(changes);
      noteCommitted(changes);
    },
  };
}
