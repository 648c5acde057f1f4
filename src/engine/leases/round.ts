import { allNews } from '../../core/ports/news.js';
import type { SharedDatabase } from '../../core/ports/shared-database.js';
import type { Fitness } from './fitness.js';
import type { GoneInstances } from './gone-instances.js';
import type { LeaseShares } from './lease-shares.js';
import type { NewsSender } from './news-sender.js';
import type { SeenInstances } from './seen-instances.js';
import type { SigningHold } from './signing-hold.js';

/** The parts that a round uses. */
export interface RoundDeps {
  readonly shared: Pick<SharedDatabase, 'isRemoved' | 'rewind' | 'recordRewind' | 'setSynchronous' | 'startSharing'>;
  readonly seen: SeenInstances;
  readonly hold: SigningHold;
  readonly fitness: Fitness;
  readonly gone: GoneInstances;
  readonly shares: LeaseShares;
  readonly news: NewsSender;
  /** Called when the last news of an instance may be lost. */
  missedNews(): void;
}

/**
 * Creates the round in which an instance looks at the others and shares the leases out: joins again if it was removed, looks, removes,
 * shares.
 */
export function createRound({ shared, seen, hold, fitness, gone, shares, news, missedNews }: RoundDeps): () => Promise<void> {
  /**
   * Takes leases from now on, unless a caller has drained this instance while it started. Deletes the free leases of units that were
   * removed while no instance ran, or by one that ended at once; an instance that knows such a unit adds its lease again.
   */
  async function startSharing(): Promise<void> {
    await shared.startSharing(seen.me(), shares.units());
    news.addLeases();
    news.send();
  }

  async function round(): Promise<void> {
    fitness.requireFit();
    const isRemoved = shared.isRemoved();
    const ownRewind = shared.rewind();
    if (ownRewind !== null) hold.noteRewind(ownRewind);
    if (isRemoved) await shares.endTakenOver();
    if (isRemoved || fitness.isDue()) await fitness.requireAgain(isRemoved);
    if (isRemoved) {
      await seen.joinAgain();
      gone.forget();
      shares.outdate();
    }
    if (seen.isStarting()) await startSharing();
    await look();
    const unrecorded = hold.unrecordedRewind();
    if (unrecorded !== null) {
      await shared.recordRewind(unrecorded);
      // The others look at once.
      news.addLeases();
    }
    news.send();
    await shares.round(hold.ownHold() === null ? seen.sharing() : null);
    hold.explain();
  }

  async function look(): Promise<void> {
    const { hasStates, hasJoined, hasLeft } = await seen.look();
    if (hold.hasChanged() || hasStates) shares.outdate();
    if (hasStates) shares.forgetLeftOver();
    // New instances have received nothing from this instance yet.
    if (hasJoined) news.add(allNews);
    // One that is gone may not have sent its last notifications.
    if (hasLeft) missedNews();
    await gone.judge(seen.members());
    // The setting of the server may have changed since this instance connected.
    const own = seen.members().find(({ number }) => number === seen.me());
    if (own !== undefined && own.isSynchronous !== hold.isSynchronous()) await shared.setSynchronous(own.number, hold.isSynchronous());
  }

  return round;
}
