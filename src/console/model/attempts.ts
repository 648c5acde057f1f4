import { type Attempt, AttemptPurpose } from '../../../gen/relayer/v1/transaction_pb.js';

/** The highest price that an attempt offers: wei per gas on EVM networks, stroops on Stellar. Null: its network has no bids. */
export function bidOf({ network }: Attempt): bigint | null {
  switch (network.case) {
    case 'evm': {
      const price = network.value.maxFeePerGas ?? network.value.gasPrice;
      return price === undefined ? null : BigInt(price);
    }
    case 'stellar':
      return BigInt(network.value.fee);
    default:
      return null;
  }
}

/** The priority fee of an attempt in wei per gas. Null: it has none. */
export function priorityFeeOf({ network }: Attempt): bigint | null {
  if (network.case !== 'evm' || network.value.maxPriorityFeePerGas === undefined) return null;
  return BigInt(network.value.maxPriorityFeePerGas);
}

const purposes: Readonly<Record<AttemptPurpose, string>> = {
  [AttemptPurpose.UNSPECIFIED]: 'unknown',
  [AttemptPurpose.CONTENT]: 'content',
  [AttemptPurpose.CANCEL]: 'cancellation',
  [AttemptPurpose.EXPIRE]: 'expiry',
  [AttemptPurpose.RELEASE_SLOT]: 'release of the slot',
};

/** The purpose of an attempt in words. */
export function purposeText(purpose: AttemptPurpose): string {
  return purposes[purpose];
}

/** Returns true if the attempt only uses the slot, without the content that the caller requested. */
export function isSelfTransfer({ purpose }: Attempt): boolean {
  return purpose !== AttemptPurpose.CONTENT && purpose !== AttemptPurpose.UNSPECIFIED;
}
