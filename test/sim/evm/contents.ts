import type { EvmRequest } from '../../../src/core/records/evm.js';
import { evmRequest } from '../../support/evm.js';
import type { Random } from '../../support/seeded-random.js';
import { validUntil } from '../callers.js';
import type { RunContext } from '../context.js';
import { revertingData } from './ledger.js';

/** The payments that callers ask for on EVM. */
export interface EvmContents {
  payment(amount: bigint, random: Random): EvmRequest;
  /** The highest price that a caller named. */
  highestPriceWei(): bigint;
}

const gwei = 10n ** 9n;
/** More than any pool takes. */
const hugeGasLimit = 20_000_000n;

/** Makes payments as the faults of the run allow. */
export function createContents(context: RunContext): EvmContents {
  let highestWei = 0n;
  return {
    payment(amount, random) {
      const hasData = random.chance(0.3);
      const isReverting = context.has('reverting') && random.chance(0.1);
      const data = isReverting ? revertingData : hasData ? `0x${'ab'.repeat(random.between(1, 60))}` : undefined;
      const isHuge = context.has('huge gas limit') && random.chance(0.15);
      const gasLimit = isHuge ? hugeGasLimit : isReverting && random.chance(0.7) ? 100_000n : undefined;
      const isExplicit = context.has('explicit price') && random.chance(0.2);
      const maxFeePerGasWei = BigInt(random.between(2, 120)) * gwei;
      if (isExplicit && maxFeePerGasWei > highestWei) highestWei = maxFeePerGasWei;
      return evmRequest({
        to: `0x${'99'.repeat(20)}`,
        valueWei: amount,
        data,
        gasLimit,
        ...(isExplicit ? { maxFeePerGasWei, maxPriorityFeePerGasWei: maxFeePerGasWei / BigInt(random.between(2, 40)) } : {}),
        speed: isExplicit ? undefined : (['safeLow', 'average', 'fast', 'fastest'] as const)[random.between(0, 3)],
        validUntilMs: validUntil(context, random),
      });
    },
    highestPriceWei: () => highestWei,
  };
}
