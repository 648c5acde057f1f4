import type { FileNetwork } from '../file-network.js';

// Facts and their sources: docs/networks.md.

/** Stellar networks that a configuration can use without defining them. */
export const stellarNetworks: readonly FileNetwork[] = [
  {
    type: 'stellar',
    network: 'mainnet',
    passphrase: 'Public Global Stellar Network ; September 2015',
    average_blocktime_ms: 5_000,
    is_testnet: false,
    rpc_urls: ['https://mainnet.sorobanrpc.com', 'https://soroban-rpc.mainnet.stellar.gateway.fm'],
    explorer_urls: ['https://stellar.expert/explorer/public'],
  },
  {
    type: 'stellar',
    network: 'testnet',
    passphrase: 'Test SDF Network ; September 2015',
    average_blocktime_ms: 5_000,
    is_testnet: true,
    rpc_urls: ['https://soroban-testnet.stellar.org'],
    explorer_urls: ['https://stellar.expert/explorer/testnet'],
  },
];
