import type { LoadedConfig } from '../../config/config-file.js';
import type { Environment } from '../../config/environment.js';
import { curveOf } from '../../core/relayer/network.js';
import type { SandboxChain } from './sandbox-chain.js';
import type { SandboxHome } from './sandbox-home.js';

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

/** A relayer on each local chain, which tells the sandbox's receiver. */
export function sandboxConfig(home: SandboxHome, chains: readonly SandboxChain[], receiverUrl: string): LoadedConfig {
  const { passphrase } = home;
  return {
    networks: chains.map(({ network }) => network),
    signers: [
      { id: 'sandbox-secp256k1', path: home.secp256k1KeystorePath, passphrase },
      { id: 'sandbox-ed25519', path: home.ed25519KeystorePath, passphrase },
    ],
    notifications: [{ id: 'sandbox-webhook', url: receiverUrl, signingKey: home.webhookSigningKey }],
    relayers: chains.map(({ relayerId, relayerName, network, policies }) => ({
      id: relayerId,
      name: relayerName,
      network,
      networkType: network.type,
      signerId: `sandbox-${curveOf(network.type)}`,
      notificationId: 'sandbox-webhook',
      customRpcUrls: [],
      paused: false,
      policies,
    })),
    notices: [],
  };
}
