import type { Sequence } from '../../core/ports/chain.js';
import type { LaneContext } from './lane-context.js';

/** How many transactions with a nonce a lane may have in flight. */
export interface InFlightLimit {
  current(): number;
  /** True if nodes had a limit of their own when they were asked last. */
  isOfNodes(): boolean;
  /** Asks nodes, once per head, how many they accept of the account. Throws `NODE_UNAVAILABLE`. */
  read(): Promise<void>;
}

/** Creates the limit of a lane: what the policies allow, and what nodes accept of the account. */
export function createInFlightLimit(
  { id, settledHash, allowed }: { readonly id: LaneContext['id']; settledHash(): string | null; allowed(): number },
  sequence: Sequence | null,
): InFlightLimit {
  let ofAccount: number | null = null;
  let readAtHash: string | null = null;

  return {
    current: () => Math.min(allowed(), ofAccount ?? Number.POSITIVE_INFINITY),
    isOfNodes: () => ofAccount !== null,
    async read() {
      const atHash = settledHash();
      if (sequence === null || readAtHash === atHash) return;
      ofAccount = await sequence.maxInFlight(id.account);
      readAtHash = atHash;
    },
  };
}
