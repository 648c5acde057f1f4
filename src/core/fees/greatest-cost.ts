import type { Draft } from '../ports/chain.js';
import type { AttemptFields } from '../transaction/transaction.js';
import { greatestCostPerGasWei } from './price.js';

/** The most that a version may take from the relayer's account, in the network's smallest unit. */
export function greatestCost(version: Draft | AttemptFields): bigint {
  switch (version.network) {
    case 'evm':
      return version.valueWei + version.gasLimit * greatestCostPerGasWei(version.price);
    case 'stellar':
      return version.costStroops;
    case 'solana':
      return version.costLamports;
  }
}
