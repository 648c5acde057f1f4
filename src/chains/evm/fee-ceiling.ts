import { loweredTo, maxCostPerGasWei, minimumOutbid, reaches } from '../../core/fees/price.js';
import type { Refusal } from '../../core/ports/chain.js';
import type { EvmPrice } from '../../core/records/evm.js';
import { onNetwork } from '../../core/records/on-network.js';
import type { Attempt } from '../../core/records/transaction.js';

/** The default of `MAX_FEE_PER_TRANSACTION`, as nodes have it: one unit of the native currency. */
export const defaultMaxFeeWei = 10n ** 18n;

/** A price that the service chose, and what it must reach. */
export interface ChosenPrice {
  readonly price: EvmPrice;
  readonly gasLimit: bigint;
  /** The attempts that it must outbid. */
  readonly outbids: readonly Attempt[];
  /** It frees a slot. */
  readonly isFiller: boolean;
  /** Reads the base fee of the next block; null: the network has none. */
  readonly baseFeeWei: () => Promise<bigint | null>;
}

/**
 * Lowers a price so that the fee stays within the ceiling per transaction. Refuses if no block, or no slot, would take that. A filler may
 * exceed it by the step that outbids attempts up to it. Null: there is no ceiling.
 */
export async function withinCeiling(maxFeeWei: bigint | null, chosen: ChosenPrice): Promise<EvmPrice | Refusal> {
  const { price, gasLimit, outbids, isFiller, baseFeeWei } = chosen;
  const mostWei = maxFeeWei === null ? null : maxFeeWei / gasLimit;
  if (maxFeeWei === null || mostWei === null || maxCostPerGasWei(price) <= mostWei) return price;
  const lowered = loweredTo(price, mostWei);
  const minimum = minimumOutbid(outbids.map(({ fields }) => onNetwork('evm', fields).price));
  const isTaken = minimum === null ? ((await baseFeeWei()) ?? 0n) <= mostWei : reaches(lowered, minimum);
  if (isTaken) return lowered;
  if (isFiller && maxCostPerGasWei(price) <= (mostWei * 11n) / 10n + 1n) return price;
  const sentence = `waiting: the fee may reach ${maxCostPerGasWei(price) * gasLimit} wei, above MAX_FEE_PER_TRANSACTION (${maxFeeWei} wei); set that higher to send at this price`;
  return { refused: 'above_cap', sentence, lasting: false, metadata: { cap_wei: String(mostWei) } };
}
