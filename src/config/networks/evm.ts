import type { FileNetwork } from '../file-network.js';

// Facts and their sources: docs/networks.md.

const ethereum = { type: 'evm', symbol: 'ETH', average_blocktime_ms: 12_000, features: ['eip1559'] } satisfies Partial<FileNetwork>;
const polygon = { type: 'evm', symbol: 'POL', average_blocktime_ms: 2_000, features: ['eip1559'] } satisfies Partial<FileNetwork>;
const arbitrum = {
  type: 'evm',
  symbol: 'ETH',
  average_blocktime_ms: 250,
  features: ['eip1559'],
  tags: ['rollup', 'arbitrum-based', 'no-mempool'],
} satisfies Partial<FileNetwork>;
const opStack = {
  type: 'evm',
  symbol: 'ETH',
  average_blocktime_ms: 2_000,
  features: ['eip1559'],
  tags: ['rollup', 'optimism-based'],
} satisfies Partial<FileNetwork>;
const bnb = { type: 'evm', average_blocktime_ms: 450, features: ['eip1559'] } satisfies Partial<FileNetwork>;
const avalanche = { type: 'evm', symbol: 'AVAX', average_blocktime_ms: 2_000, features: ['eip1559'] } satisfies Partial<FileNetwork>;

/** EVM networks that a configuration can use without defining them. */
export const evmNetworks: readonly FileNetwork[] = [
  {
    ...ethereum,
    network: 'mainnet',
    chain_id: 1,
    required_confirmations: 12,
    is_testnet: false,
    rpc_urls: ['https://ethereum.publicnode.com', 'https://eth.drpc.org'],
    explorer_urls: ['https://etherscan.io'],
  },
  {
    ...ethereum,
    network: 'sepolia',
    chain_id: 11155111,
    required_confirmations: 6,
    is_testnet: true,
    rpc_urls: ['https://ethereum-sepolia-rpc.publicnode.com', 'https://sepolia.drpc.org'],
    explorer_urls: ['https://sepolia.etherscan.io'],
  },
  {
    ...polygon,
    network: 'polygon',
    chain_id: 137,
    required_confirmations: 32,
    is_testnet: false,
    rpc_urls: ['https://polygon-bor-rpc.publicnode.com', 'https://polygon.drpc.org'],
    explorer_urls: ['https://polygonscan.com'],
  },
  {
    ...polygon,
    network: 'polygon-amoy',
    chain_id: 80002,
    required_confirmations: 10,
    is_testnet: true,
    rpc_urls: ['https://rpc-amoy.polygon.technology', 'https://polygon-amoy-bor-rpc.publicnode.com', 'https://polygon-amoy.drpc.org'],
    explorer_urls: ['https://amoy.polygonscan.com'],
  },
  {
    ...arbitrum,
    network: 'arbitrum-one',
    chain_id: 42161,
    required_confirmations: 5,
    is_testnet: false,
    rpc_urls: ['https://arb1.arbitrum.io/rpc', 'https://arbitrum-one-rpc.publicnode.com', 'https://arbitrum.drpc.org'],
    explorer_urls: ['https://arbiscan.io'],
  },
  {
    ...arbitrum,
    network: 'arbitrum-sepolia',
    chain_id: 421614,
    required_confirmations: 1,
    is_testnet: true,
    rpc_urls: ['https://sepolia-rollup.arbitrum.io/rpc', 'https://arbitrum-sepolia-rpc.publicnode.com'],
    explorer_urls: ['https://sepolia.arbiscan.io'],
  },
  {
    ...opStack,
    network: 'optimism',
    chain_id: 10,
    required_confirmations: 10,
    is_testnet: false,
    rpc_urls: ['https://mainnet.optimism.io', 'https://optimism-rpc.publicnode.com', 'https://optimism.drpc.org'],
    explorer_urls: ['https://optimistic.etherscan.io'],
  },
  {
    ...opStack,
    network: 'optimism-sepolia',
    chain_id: 11155420,
    required_confirmations: 1,
    is_testnet: true,
    rpc_urls: ['https://sepolia.optimism.io', 'https://optimism-sepolia.drpc.org'],
    explorer_urls: ['https://sepolia-optimism.etherscan.io'],
  },
  {
    ...opStack,
    network: 'base',
    chain_id: 8453,
    required_confirmations: 10,
    is_testnet: false,
    rpc_urls: ['https://mainnet.base.org', 'https://base-rpc.publicnode.com', 'https://base.drpc.org'],
    explorer_urls: ['https://basescan.org'],
  },
  {
    ...opStack,
    network: 'base-sepolia',
    chain_id: 84532,
    required_confirmations: 1,
    is_testnet: true,
    rpc_urls: ['https://sepolia.base.org', 'https://base-sepolia-rpc.publicnode.com'],
    explorer_urls: ['https://sepolia.basescan.org'],
  },
  {
    ...bnb,
    network: 'bsc',
    chain_id: 56,
    symbol: 'BNB',
    required_confirmations: 15,
    is_testnet: false,
    rpc_urls: ['https://bsc-dataseed1.binance.org', 'https://bsc-dataseed2.binance.org', 'https://bsc.drpc.org'],
    explorer_urls: ['https://bscscan.com'],
  },
  {
    ...bnb,
    network: 'bsc-testnet',
    chain_id: 97,
    symbol: 'tBNB',
    required_confirmations: 9,
    is_testnet: true,
    rpc_urls: ['https://data-seed-prebsc-1-s1.binance.org:8545', 'https://bsc-testnet.publicnode.com'],
    explorer_urls: ['https://testnet.bscscan.com'],
  },
  {
    ...avalanche,
    network: 'avalanche',
    chain_id: 43114,
    required_confirmations: 3,
    is_testnet: false,
    rpc_urls: ['https://api.avax.network/ext/bc/C/rpc'],
    explorer_urls: ['https://snowtrace.io'],
  },
  {
    ...avalanche,
    network: 'avalanche-fuji',
    chain_id: 43113,
    required_confirmations: 3,
    is_testnet: true,
    rpc_urls: ['https://api.avax-test.network/ext/bc/C/rpc', 'https://avalanche-fuji-c-chain.publicnode.com'],
    explorer_urls: ['https://testnet.snowtrace.io'],
  },
];
