/** The newest block that a node knows: a ledger on Stellar, a slot on Solana. */
export interface Head {
  readonly number: bigint;
  /** On Solana the slot. */
  readonly hash: string;
  /** The block's own timestamp, unless `isOwnTime`. */
  readonly timestampMs: number;
  /** The node reports no timestamp with it: `timestampMs` is the time of this process at which it was seen. Always on Solana. */
  readonly isOwnTime?: true;
  /** The RPC endpoint that reported it, as its place in the order of the weights. Absent: the network does not tell its endpoints apart. */
  readonly endpoint?: number;
}

/** The timestamp that the chain itself gave the block, which may confirm or refute another clock; null: not known. */
export function blockTimeMsOf(head: Head | null): number | null {
  return head === null || head.isOwnTime === true ? null : head.timestampMs;
}

/** Blocks by number, both ends included. */
export interface BlockRange {
  readonly from: bigint;
  readonly to: bigint;
}
