import type { Sequence } from '../../core/ports/chain/slots.js';
import type { LaneId } from '../../core/records/transaction.js';
import type { Heads } from './heads.js';

/** The automatic limit of an endpoint that has shown nothing yet, and the highest one. */
const automatic = { first: 16, highest: 2_048 };

/** How many transactions with a nonce a lane may have in flight. */
export interface InFlightLimit {
  current(): number;
  /** True if nodes reported a limit of their own at the last `read`. */
  isOfNodes(): boolean;
  /** True if nodes were ever asked, and have answered or failed to. */
  wasRead(): boolean;
  /** Asks nodes, once per head, how many they accept of the account. Throws `NODE_UNAVAILABLE`. */
  read(): Promise<void>;
  /** Takes note that something waits for room. */
  noteReached(): void;
  isReached(): boolean;
  /** Takes note that the endpoint has every transaction in flight: if the limit was reached, it doubles, at most once per head. */
  noteHeld(): void;
  /**
   * Takes note that the endpoint has no room for every transaction in flight: halves the limit, unless more transactions than the limit are
   * in flight.
   */
  noteCrowded(): void;
}

/** The parts that make the limit. */
export interface InFlightLimitDeps {
  readonly id: LaneId;
  readonly sequence: Sequence | null;
  readonly heads: Pick<Heads, 'newest' | 'settled'>;
  /** The number in flight. */
  inFlight(): number;
  /** The limit that the policies set; null: the limit is automatic. */
  allowed(): number | null;
}

/**
 * Creates the limit of a lane from the limits of the nodes and the policies. An automatic limit is learned per endpoint, since pools
 * differ: it grows only while it is used and the endpoint keeps everything, so that a burst never exceeds by far what the endpoint has
 * shown to hold.
 */
export function createInFlightLimit({ id, sequence, heads, inFlight, allowed }: InFlightLimitDeps): InFlightLimit {
  const learned = new Map<number, number>();
  let ofAccount: number | null = null;
  let wasRead = false;
  /** The last question, and whether it is answered; null: it failed, or none was asked. */
  let reading: { readonly atHash: string | undefined; readonly done: Promise<void>; isAnswered: boolean } | null = null;
  let isReached = false;
  let changedAtHash: string | null = null;

  const endpoint = () => heads.settled?.endpoint ?? 0;
  const settledHash = () => heads.settled?.hash ?? null;
  const own = () => learned.get(endpoint()) ?? automatic.first;

  async function ask(): Promise<void> {
    if (sequence === null) return;
    try {
      ofAccount = await sequence.maxInFlight(id.account);
    } finally {
      wasRead = true;
    }
  }

  function change(limit: number): void {
    learned.set(endpoint(), limit);
    isReached = false;
    changedAtHash = settledHash();
  }

  return {
    current: () => Math.min(allowed() ?? own(), ofAccount ?? Number.POSITIVE_INFINITY),
    isOfNodes: () => ofAccount !== null,
    wasRead: () => wasRead || sequence === null,
    read() {
      const atHash = heads.newest?.hash;
      if (reading !== null && (reading.atHash === atHash || !reading.isAnswered)) return reading.done;
      const current = { atHash, done: ask(), isAnswered: false };
      reading = current;
      current.done.then(
        () => {
          current.isAnswered = true;
        },
        () => {
          reading = null;
        },
      );
      return current.done;
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
