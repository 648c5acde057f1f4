import type { MinimumReplacementPrice } from '../../../gen/relayer/v1/transaction_service_pb.js';

/** The two prices of a bid in wei per gas. */
export interface Bid {
  readonly maxFee: bigint;
  readonly priorityFee: bigint;
}

/** Reads the minimum that the service states with the attempts of a transaction. Null: it states none. */
export function minimumBid(minimum: MinimumReplacementPrice | undefined): Bid | null {
  return minimum === undefined ? null : { maxFee: BigInt(minimum.maxFeePerGas), priorityFee: BigInt(minimum.maxPriorityFeePerGas) };
}

/** Returns the minimum that the error `REPLACEMENT_UNDERPRICED` names. A price that it does not name stays. */
export function statedMinimum(metadata: Readonly<Record<string, string>>, present: Bid): Bid {
  const stated = (key: string, otherwise: bigint) => (/^\d+$/.test(metadata[key] ?? '') ? BigInt(metadata[key] ?? '0') : otherwise);
  return { maxFee: stated('minimum_wei', present.maxFee), priorityFee: stated('minimum_priority_wei', present.priorityFee) };
}
