import { DomainError } from '../../core/errors/errors.js';
import type { DatabaseState } from '../../core/ports/database-state.js';
import type { InstanceState, Instances } from '../../core/ports/instances.js';
import type { LeaseKind } from '../../core/ports/leases.js';
import type { News } from '../../core/ports/news.js';
import type { Member, OldestSnapshot } from '../../core/ports/shared-database.js';
import { ConflictError } from '../../core/ports/store/change.js';
import type { LeaseShares } from './lease-shares.js';
import type { SeenInstances } from './seen-instances.js';
import type { SigningHold } from './signing-hold.js';

/** The instances that share the database of this one. */
export interface Sharing
  extends Instances,
    DatabaseState,
    Omit<
      SigningHold,
      'holdOfAll' | 'isSynchronous' | 'note' | 'noteRewind' | 'unrecordedRewind' | 'requireUsableServer' | 'hasChanged' | 'explain'
    > {
  /** The number of instances. Costs nothing, unlike the list. */
  count(): number;
  /** The number of leases that no instance holds, by kind, as they were read last. */
  unheld(): ReadonlyMap<LeaseKind, number>;
  /** Why this instance changes and signs nothing any more: another one works with newer configuration files. Null: none does. */
  superseded(): string | null;
  /** As this instance saw it last. */
  oldestSnapshot(): OldestSnapshot;
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
  const memberOf = (id: string): Member | undefined => seen.members().find(({ number }) => String(number) === id);

  /** Stores the state of the member and looks. False: it has just left. */
  async function change({ number }: Member, state: InstanceState): Promise<boolean> {
    try {
      await setState(number, state);
    } catch (error) {
      if (error instanceof ConflictError) return false;
      throw error;
    }
    await nextRound();
    return true;
  }

  /** One with older files shares again once those with newer ones are drained. */
  function requireAnotherThatShares({ number }: Member): void {
    if (seen.members().some((other) => other.number !== number && other.isConnected && other.state === 'sharing')) return;
    throw new DomainError(
      'precondition',
      'INSTANCE_ALONE',
      `no other instance is connected and has the state sharing, so none can take over the work of instance ${number}; start one, or set force`,
      { metadata: { instance_id: String(number) } },
    );
  }

  return {
    ownId: () => String(seen.me()),
    instances: () => seen.members().map(({ number, shown }) => ({ ...shown, lanes: shares.heldBy(number).get('lane') ?? 0 })),
    count: () => seen.members().length,
    unheld: shares.unheld,
    superseded,
    oldestSnapshot: seen.oldestSnapshot,
    async drain(id, isForced) {
      await nextRound();
      const member = memberOf(id);
      if (member === undefined || member.state === 'draining') return member !== undefined;
      if (!isForced) requireAnotherThatShares(member);
      if (!(await change(member, 'draining'))) return false;
      if (isForced) return true;
      try {
        // Another caller may have drained the others meanwhile.
        requireAnotherThatShares(member);
      } catch (error) {
        await change(member, member.state);
        throw error;
      }
      return true;
    },
    async undrain(id) {
      await nextRound();
      const member = memberOf(id);
      if (member?.state !== 'draining') return member !== undefined;
      // The instance itself begins to share once it can: it may be opening its keys, or have another state by what it knows.
      return change(member, 'starting');
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
    dangers: hold.dangers,
  };
}
