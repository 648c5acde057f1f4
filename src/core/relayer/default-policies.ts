import type { EvmPolicies, SolanaPolicies, StellarPolicies } from './relayer.js';

/** What a relayer may do where nothing is said, by the kind of its network: no cap, all receivers, and a little must remain. */
export const defaultPolicies: {
  readonly evm: EvmPolicies;
  readonly stellar: StellarPolicies;
  readonly solana: SolanaPolicies;
} = {
  evm: {
    network: 'evm',
    minBalanceWei: 1n,
    gasPriceCapWei: null,
    whitelistReceivers: null,
    eip1559Pricing: true,
    gasLimitEstimation: true,
    maxInFlight: 16,
    includeRevertData: false,
  },
  // A tenth of a lumen and a hundredth of a SOL, as the existing relayer has it; a Stellar network itself keeps back more.
  stellar: { network: 'stellar', minBalanceStroops: 1_000_000n, maxFeeStroops: null },
  solana: {
    network: 'solana',
    minBalanceLamports: 10_000_000n,
    maxAllowedFeeLamports: null,
    allowedPrograms: null,
    allowedAccounts: null,
    disallowedAccounts: [],
    maxSignatures: null,
    maxTxDataSizeBytes: 1232,
  },
};
