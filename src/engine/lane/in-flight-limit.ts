import type { Head, Sequence } from '../../core/ports/chain.js';
import type { LaneId } from '../../core/transaction/transaction.js';

/** The automatic limit of an endpoint that has shown nothing yet, and the highest one. */
const automatic = { first: 16, highest: 2_048 };

/** How many transactions with a nonce a lane may have in flight. */
export interface InFlightLimit {
  current(): number;
  /** True if nodes had a limit of their own when they were asked last. */
  isOfNodes(): boolean;
  /** Asks nodes, once per head, how many they accept of the account. Throws `NODE_UNAVAILABLE`. */
  read(): Promise<void>;
  /** Takes note that something waits for room. */
  noteReached(): void;
  isReached(): boolean;
  /** Takes note that the endpoint has all that is in flight: if the limit was reached, it doubles, at most once per head. */
  noteHeld(): void;
  /** Takes note that the endpoint has no room for all that is in flight: the limit is halved, unless more is in flight since it was halved before. */
  noteCrowded(): void;
}

/** The parts that make the limit. */
export interface InFlightLimitDeps {
  readonly id: LaneId;
  readonly sequence: Sequence | null;
  settled(): Head | null;
  /** The number in flight. */
  inFlight(): number;
  /** What the policies allow; null: the limit is automatic. */
  allowed(): number | null;
}

/**
 * Creates the limit of a lane: what nodes accept of the account, and what the policies allow. An automatic limit is learned per endpoint, since pools
 * differ: it grows only while it is used and the endpoint keeps everything, so that a burst never exceeds by far what the endpoint has shown to hold.
 */
export function createInFlightLimit({ id, sequence, settled, inFlight, allowed }: InFlightLimitDeps): InFlightLimit {
  const learned = new Map<number, number>();
  let ofAccount: number | null = null;
  let readAtHash: string | null = null;
  let isReached = false;
  let changedAtHash: string | null = null;

  const endpoint = () => settled()?.endpoint ?? 0;
  const settledHash = () => settled()?.hash ?? null;
  const own = () => learned.get(endpoint()) ?? automatic.first;

  function change(limit: number): void {
    learned.set(endpoint(), limit);
    isReached = false;
    changedAtHash = settledHash();
  }

  return {
    current: () => Math.min(allowed() ?? own(), ofAccount ?? Number.POSITIVE_INFINITY),
    isOfNodes: () => ofAccount !== null,
    async read() {
      const atHash = settledHash();
      if (sequence === null || readAtHash === atHash) return;
      ofAccount = await sequence.maxInFlight(id.account);
      readAtHash = atHash;
    },
    noteReached() {
      isReached = allowed() === null && ofAccount === null;
    },
    isReached: () => isReached,
    noteHeld() {
      if (isReached && changedAtHash !== settledHash()) change(Math.min(automatic.highest, own() * 2));
    },
    noteCrowded() {
      if (inFlight() <= own()) change(Math.max(1, Math.floor(own() / 2)));
    },
  };
}
