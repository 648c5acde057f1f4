import type { WireTransaction } from './wire-transaction.js';

/** How a node rebroadcasts a transaction. */
export interface Forwarding {
  /** The number of rebroadcasts to the leaders; null for until the blockhash expires; 0 for a single packet. */
  readonly maxRetries: number | null;
  /** The height after which the node stops. */
  readonly lastValidHeight: bigint;
}

/** The transactions that are sent but in no block. */
export interface Pool {
  /** Adds a transaction that a node sends to the leaders, unless it is already there. */
  add(transaction: WireTransaction, forwarding: Forwarding): void;
  /** Returns the signatures of pending transactions, oldest first. */
  waiting(): readonly string[];
  /** Drops all pending transactions, as if all packets were lost. */
  drop(): void;
  /** While true, packets to the leaders are lost: only rebroadcasts can land, later. */
  losesPackets: boolean;
  /** The unit price in micro-lamports below which leaders keep transactions waiting. */
  lowestBidMicroLamports: bigint;
  /** Removes and returns the transactions that the leader of this slot includes, best bid first. */
  take(slot: bigint): readonly WireTransaction[];
  /** Drops transactions that have expired. */
  forgetExpired(finalHeight: bigint): void;
}

/** A node rebroadcasts every two seconds, five slots (send_transaction_service: DEFAULT_RETRY_RATE_MS). */
const slotsBetweenRetries = 5n;

interface Waiting {
  readonly transaction: WireTransaction;
  readonly lastValidHeight: bigint;
  retriesLeft: number;
  nextPacketAtSlot: bigint;
}

/** Creates an empty pool. */
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
