import type { WireTransaction } from './wire-transaction.js';

/** How a node takes care of what it forwards. */
export interface Forwarding {
  /** How often it sends again to the leaders; null: until the blockhash is too old. 0 means one packet, and no more. */
  readonly maxRetries: number | null;
  /** Height after which the node stops. */
  readonly lastValidHeight: bigint;
}

/** What was sent and is not in a block. */
export interface Pool {
  /** A node sends it to the leaders. What waits already waits on. */
  add(transaction: WireTransaction, forwarding: Forwarding): void;
  /** Signatures of what waits, oldest first. */
  waiting(): readonly string[];
  /** Forgets all that waits, as when every packet of it was lost and nobody sends again. */
  drop(): void;
  /** While true packets are lost on their way to the leaders: only what a node sends again can land, later. */
  losesPackets: boolean;
  /** Leaders keep what bids less (millionths of a lamport per unit) waiting. */
  lowestBidMicroLamports: bigint;
  /** What the leader of this slot has got and takes, best bid first. It waits no longer. */
  take(slot: bigint): readonly WireTransaction[];
  /** Lets go of what no block will take any more. */
  forgetExpired(finalHeight: bigint): void;
}

/** A node sends again every two seconds, five slots (send_transaction_service: DEFAULT_RETRY_RATE_MS). */
const slotsBetweenRetries = 5n;

interface Waiting {
  readonly transaction: WireTransaction;
  readonly lastValidHeight: bigint;
  retriesLeft: number;
  nextPacketAtSlot: bigint;
}

/** An empty pool. */
export function createPool(): Pool {
  const entries = new Map<string, Waiting>();
  return {
    losesPackets: false,
    lowestBidMicroLamports: 0n,
    add(transaction, { maxRetries, lastValidHeight }) {
      const present = entries.get(transaction.signature);
      const entry = present ?? { transaction, lastValidHeight, retriesLeft: 0, nextPacketAtSlot: 0n };
      entries.set(transaction.signature, { ...entry, retriesLeft: maxRetries ?? Number.POSITIVE_INFINITY, nextPacketAtSlot: 0n });
    },
    waiting: () => [...entries.keys()],
    drop() {
      entries.clear();
    },
    take(slot) {
      const taken: WireTransaction[] = [];
      for (const [signature, entry] of entries) {
        if (entry.nextPacketAtSlot > slot) continue;
        if (this.losesPackets) {
          if (entry.retriesLeft === 0) entries.delete(signature);
          entry.retriesLeft -= 1;
          entry.nextPacketAtSlot = slot + slotsBetweenRetries;
        } else if (entry.transaction.bidMicroLamports >= this.lowestBidMicroLamports) {
          entries.delete(signature);
          taken.push(entry.transaction);
        }
      }
      return taken.sort((one, other) => Number(other.bidMicroLamports - one.bidMicroLamports));
    },
    forgetExpired(finalHeight) {
      for (const [signature, { lastValidHeight }] of entries) if (finalHeight > lastValidHeight) entries.delete(signature);
    },
  };
}
