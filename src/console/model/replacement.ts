import type { Attempt } from '../../../gen/relayer/v1/transaction_pb.js';
import { bidOf, priorityFeeOf } from './attempts.js';

/** The two prices of a bid in wei per gas. */
export interface Bid {
  readonly maxFee: bigint;
  readonly priorityFee: bigint;
}

/** Returns the lowest price that nodes accept instead of this one: 10 % and 1 wei more, as the service requires it. */
function bumped(wei: bigint): bigint {
  return (wei * 11n) / 10n + 1n;
}

/**
 * Returns the lowest bid that outbids all these attempts on an EVM network, since a node may hold any of them. Null: there is none. A legacy attempt bids its price
 * as priority fee too.
 */
export function minimumOutbid(attempts: readonly Attempt[]): Bid | null {
  return attempts.reduce<Bid | null>((highest, attempt) => {
    const bid = bidOf(attempt);
    if (bid === null || attempt.network.case !== 'evm') return highest;
    const maxFee = bumped(bid);
    const priorityFee = bumped(priorityFeeOf(attempt) ?? bid);
    if (highest === null) return { maxFee, priorityFee };
    return { maxFee: larger(maxFee, highest.maxFee), priorityFee: larger(priorityFee, highest.priorityFee) };
  }, null);
}

/** Returns the minimum that the error `REPLACEMENT_UNDERPRICED` names. A price that it does not name stays. */
export function statedMinimum(metadata: Readonly<Record<string, string>>, present: Bid): Bid {
  const stated = (key: string, otherwise: bigint) => (/^\d+$/.test(metadata[key] ?? '') ? BigInt(metadata[key] ?? '0') : otherwise);
  return { maxFee: stated('minimum_wei', present.maxFee), priorityFee: stated('minimum_priority_wei', present.priorityFee) };
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
