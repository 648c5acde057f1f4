import type { FileNetwork } from '../file-network.js';

// Facts and their sources: docs/networks.md.

/** Solana clusters that a configuration can use without defining them. */
export const solanaNetworks: readonly FileNetwork[] = [
  {
    type: 'solana',
    network: 'mainnet-beta',
    average_blocktime_ms: 400,
    is_testnet: false,
    rpc_urls: ['https://api.mainnet-beta.solana.com'],
    explorer_urls: ['https://explorer.solana.com'],
  },
  {
    type: 'solana',
    network: 'devnet',
    average_blocktime_ms: 400,
    is_testnet: true,
    rpc_urls: ['https://api.devnet.solana.com'],
    explorer_urls: ['https://explorer.solana.com?cluster=devnet'],
  },
];
