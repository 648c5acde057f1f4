import type { LoadedConfig } from '../../config/config-file.js';
import type { Environment } from '../../config/environment.js';
import type { EvmNetwork } from '../../core/relayer/network.js';
import { sandboxChainId } from './local-chain.js';
import type { SandboxHome } from './sandbox-home.js';

/** Id of the sandbox's relayer. */
export const sandboxRelayerId = 'sandbox';

/** The settings of the sandbox: the user's own, save where what it keeps is. */
export function sandboxEnvironment(env: Environment, home: SandboxHome): Environment {
  return {
    ...env,
    API_KEY: env.API_KEY || home.apiKey,
    LOG_LEVEL: env.LOG_LEVEL || 'warn',
    DATABASE_URL: home.databaseUrl,
    STORAGE_ENCRYPTION_KEY: home.storageEncryptionKey,
    WEBHOOK_ALLOW_PRIVATE: 'true',
  };
}

/** The local chain as a network. */
export function sandboxNetwork(rpcUrl: string, blockTimeSeconds: number): EvmNetwork {
  return {
    name: 'sandbox',
    type: 'evm',
    chainId: BigInt(sandboxChainId),
    rpcUrls: [{ url: rpcUrl, weight: 100 }],
    requiredConfirmations: 1,
    averageBlockTimeMs: 1000 * (blockTimeSeconds || 1),
    eip1559: true,
    symbol: 'ETH',
    isTestnet: true,
    tags: [],
    explorerUrls: [],
  };
}

/** One relayer on the local chain, which tells the sandbox's receiver. */
export function sandboxConfig(home: SandboxHome, network: EvmNetwork, receiverUrl: string): LoadedConfig {
  return {
    networks: [network],
    signers: [{ id: 'sandbox-signer', path: home.keystorePath, passphrase: home.passphrase }],
    notifications: [{ id: 'sandbox-webhook', url: receiverUrl, signingKey: home.webhookSigningKey }],
    relayers: [
      {
        id: sandboxRelayerId,
        name: 'Sandbox',
        network,
        networkType: 'evm',
        signerId: 'sandbox-signer',
        notificationId: 'sandbox-webhook',
        customRpcUrls: [],
        paused: false,
        policies: {
          network: 'evm',
          minBalanceWei: 0n,
          gasPriceCapWei: null,
          whitelistReceivers: null,
          eip1559Pricing: true,
          gasLimitEstimation: true,
          includeRevertData: false,
          maxInFlight: 16,
        },
      },
    ],
    notices: [],
  };
}
