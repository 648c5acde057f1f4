import type { NetworkType } from '../core/relayer/network.js';

/** A network in the words of the configuration file. TypeScript rather than JSON files: the compiler checks it and puts it next to the program. */
export interface BundledNetwork {
  readonly type: NetworkType;
  readonly network: string;
  readonly average_blocktime_ms: number;
  readonly is_testnet: boolean;
  readonly rpc_urls: readonly string[];
  readonly explorer_urls: readonly string[];
  readonly tags?: readonly string[];
  /** EVM only, like the next three. */
  readonly chain_id?: number;
  readonly required_confirmations?: number;
  readonly symbol?: string;
  readonly features?: readonly string[];
  /** Stellar only. */
  readonly passphrase?: string;
}

// Facts and their sources: docs/networks.md.

const ethereum = { type: 'evm', symbol: 'ETH', average_blocktime_ms: 12_000, features: ['eip1559'] } satisfies Partial<BundledNetwork>;
const polygon = { type: 'evm', symbol: 'POL', average_blocktime_ms: 2_000, features: ['eip1559'] } satisfies Partial<BundledNetwork>;
const arbitrum = {
  type: 'evm',
  symbol: 'ETH',
  average_blocktime_ms: 250,
  features: ['eip1559'],
  tags: ['rollup', 'arbitrum-based', 'no-mempool'],
} satisfies Partial<BundledNetwork>;
const opStack = {
  type: 'evm',
  symbol: 'ETH',
  average_blocktime_ms: 2_000,
  features: ['eip1559'],
  tags: ['rollup', 'optimism-based'],
} satisfies Partial<BundledNetwork>;
const bnb = { type: 'evm', average_blocktime_ms: 450, features: ['eip1559'] } satisfies Partial<BundledNetwork>;
const avalanche = { type: 'evm', symbol: 'AVAX', average_blocktime_ms: 2_000, features: ['eip1559'] } satisfies Partial<BundledNetwork>;

const evmNetworks: readonly BundledNetwork[] = [
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

const stellarNetworks: readonly BundledNetwork[] = [
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

const solanaNetworks: readonly BundledNetwork[] = [
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

/** The networks that a configuration can use without defining them. */
export const bundledNetworks: readonly BundledNetwork[] = [...evmNetworks, ...stellarNetworks, ...solanaNetworks];
