import type { DatabaseState } from '../../core/ports/database-state.js';
import type { InstanceState, Instances } from '../../core/ports/instances.js';
import type { LeaseKind } from '../../core/ports/leases.js';
import type { News } from '../../core/ports/news.js';
import { ConflictError } from '../../core/ports/store/change.js';
import type { LeaseShares } from './lease-shares.js';
import type { SeenInstances } from './seen-instances.js';
import type { SigningHold } from './signing-hold.js';

/** The instances that share the database of this one. */
export interface Sharing
  extends Instances,
    DatabaseState,
    Omit<SigningHold, 'holdOfAll' | 'note' | 'noteRewind' | 'unrecordedRewind' | 'requireUsableServer' | 'hasChanged' | 'explain'> {
  /** The number of instances. Costs nothing, unlike the list. */
  count(): number;
  /** The number of leases that no instance holds, by kind, as they were read last. */
  unheld(): ReadonlyMap<LeaseKind, number>;
  /** Why this instance changes and signs nothing any more: another one works with newer configuration files. Null: none does. */
  superseded(): string | null;
  /** See `Look.oldestSnapshotMs`. */
  oldestSnapshotMs(): number;
  /** Calls `listener` when another instance may have changed something. */
  onNews(listener: (news: News) => void): void;
}

/** The parts that show the sharing. */
export interface SharingDeps {
  readonly seen: SeenInstances;
  readonly hold: SigningHold;
  readonly shares: Pick<LeaseShares, 'heldBy' | 'unheld'>;
  /** Stores the state of an instance. Throws ConflictError if it has left. */
  setState(number: number, state: InstanceState): Promise<void>;
  /** Resolves after the next round. */
  nextRound(): Promise<void>;
  readonly onNews: Sharing['onNews'];
  readonly superseded: Sharing['superseded'];
}

/** Shows the instances to callers and operators. */
export function createSharing({ seen, hold, shares, setState, nextRound, onNews, superseded }: SharingDeps): Sharing {
  return {
    ownId: () => String(seen.me()),
    instances: () => seen.members().map(({ number, shown }) => ({ ...shown, lanes: shares.heldBy(number).get('lane') ?? 0 })),
    count: () => seen.members().length,
    unheld: shares.unheld,
    superseded,
    oldestSnapshotMs: seen.oldestSnapshotMs,
    async drain(id) {
      const member = seen.members().find(({ number }) => String(number) === id);
      if (member === undefined) return false;
      try {
        await setState(member.number, 'draining');
      } catch (error) {
        // It has just left.
        if (error instanceof ConflictError) return false;
        throw error;
      }
      await nextRound();
      return true;
    },
    onNews,
    onHold: hold.onHold,
    rewind: hold.rewind,
    ownHold: hold.ownHold,
    // While another instance shares, it may sign.
    hold: () => (seen.sharing().some((number) => number !== seen.me()) ? hold.holdOfAll() : hold.ownHold()),
    timeMs: hold.timeMs,
    clockSkewMs: hold.clockSkewMs,
    clockDifference: hold.clockDifference,
    unsafeSettings: hold.unsafeSettings,
  };
}
