import type { NetworkType } from '../core/records/network.js';

/**
 * A network with the field names of the configuration file. It is TypeScript, not JSON, so that the compiler checks it and the build
 * contains it.
 */
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

/**
 * Creates a network of a family from its own fields, its explorer and its RPC URLs. It is a main network unless the fields say otherwise.
 */
type Family = (
  facts: Pick<BundledNetwork, 'network'> & Partial<BundledNetwork>,
  explorer: string,
  rpcUrls: readonly string[],
) => BundledNetwork;

const family =
  (shared: Pick<BundledNetwork, 'type' | 'average_blocktime_ms'> & Partial<BundledNetwork>): Family =>
  (facts, explorer, rpcUrls) => ({ is_testnet: false, ...shared, ...facts, explorer_urls: [explorer], rpc_urls: rpcUrls });

const evm = (shared: Pick<BundledNetwork, 'average_blocktime_ms'> & Partial<BundledNetwork>): Family =>
  family({ type: 'evm', symbol: 'ETH', features: ['eip1559'], ...shared });

const ethereum = evm({ average_blocktime_ms: 12_000 });
const polygon = evm({ symbol: 'POL', average_blocktime_ms: 2_000 });
const arbitrum = evm({ average_blocktime_ms: 250, tags: ['rollup', 'arbitrum-based', 'no-mempool'] });
const opStack = evm({ average_blocktime_ms: 2_000, tags: ['rollup', 'optimism-based'] });
const bnb = evm({ average_blocktime_ms: 450 });
const avalanche = evm({ symbol: 'AVAX', average_blocktime_ms: 2_000 });
const stellar = family({ type: 'stellar', average_blocktime_ms: 5_000 });
const solana = family({ type: 'solana', average_blocktime_ms: 400 });

/** The networks that a configuration can use without defining them. `docs/networks.md` has the sources of these facts. */
export const bundledNetworks: readonly BundledNetwork[] = [
  ethereum({ network: 'mainnet', chain_id: 1, required_confirmations: 12 }, 'https://etherscan.io', [
    'https://ethereum.publicnode.com',
    'https://eth.drpc.org',
  ]),
  ethereum({ network: 'sepolia', chain_id: 11155111, required_confirmations: 6, is_testnet: true }, 'https://sepolia.etherscan.io', [
    'https://ethereum-sepolia-rpc.publicnode.com',
    'https://sepolia.drpc.org',
  ]),
  polygon({ network: 'polygon', chain_id: 137, required_confirmations: 32 }, 'https://polygonscan.com', [
    'https://polygon-bor-rpc.publicnode.com',
    'https://polygon.drpc.org',
  ]),
  polygon({ network: 'polygon-amoy', chain_id: 80002, required_confirmations: 10, is_testnet: true }, 'https://amoy.polygonscan.com', [
    'https://rpc-amoy.polygon.technology',
    'https://polygon-amoy-bor-rpc.publicnode.com',
    'https://polygon-amoy.drpc.org',
  ]),
  arbitrum({ network: 'arbitrum-one', chain_id: 42161, required_confirmations: 5 }, 'https://arbiscan.io', [
    'https://arb1.arbitrum.io/rpc',
    'https://arbitrum-one-rpc.publicnode.com',
    'https://arbitrum.drpc.org',
  ]),
  arbitrum({ network: 'arbitrum-sepolia', chain_id: 421614, required_confirmations: 1, is_testnet: true }, 'https://sepolia.arbiscan.io', [
    'https://sepolia-rollup.arbitrum.io/rpc',
    'https://arbitrum-sepolia-rpc.publicnode.com',
  ]),
  opStack({ network: 'optimism', chain_id: 10, required_confirmations: 10 }, 'https://optimistic.etherscan.io', [
    'https://mainnet.optimism.io',
    'https://optimism-rpc.publicnode.com',
    'https://optimism.drpc.org',
  ]),
  opStack(
    { network: 'optimism-sepolia', chain_id: 11155420, required_confirmations: 1, is_testnet: true },
    'https://sepolia-optimism.etherscan.io',
    ['https://sepolia.optimism.io', 'https://optimism-sepolia.drpc.org'],
  ),
  opStack({ network: 'base', chain_id: 8453, required_confirmations: 10 }, 'https://basescan.org', [
    'https://mainnet.base.org',
    'https://base-rpc.publicnode.com',
    'https://base.drpc.org',
  ]),
  opStack({ network: 'base-sepolia', chain_id: 84532, required_confirmations: 1, is_testnet: true }, 'https://sepolia.basescan.org', [
    'https://sepolia.base.org',
    'https://base-sepolia-rpc.publicnode.com',
  ]),
  bnb({ network: 'bsc', chain_id: 56, symbol: 'BNB', required_confirmations: 15 }, 'https://bscscan.com', [
    'https://bsc-dataseed1.binance.org',
    'https://bsc-dataseed2.binance.org',
    'https://bsc.drpc.org',
  ]),
  bnb(
    { network: 'bsc-testnet', chain_id: 97, symbol: 'tBNB', required_confirmations: 9, is_testnet: true },
    'https://testnet.bscscan.com',
    ['https://data-seed-prebsc-1-s1.binance.org:8545', 'https://bsc-testnet.publicnode.com'],
  ),
  avalanche({ network: 'avalanche', chain_id: 43114, required_confirmations: 3 }, 'https://snowtrace.io', [
    'https://api.avax.network/ext/bc/C/rpc',
  ]),
  avalanche({ network: 'avalanche-fuji', chain_id: 43113, required_confirmations: 3, is_testnet: true }, 'https://testnet.snowtrace.io', [
    'https://api.avax-test.network/ext/bc/C/rpc',
    'https://avalanche-fuji-c-chain.publicnode.com',
  ]),
  stellar({ network: 'mainnet', passphrase: 'Public Global Stellar Network ; September 2015' }, 'https://stellar.expert/explorer/public', [
    'https://mainnet.sorobanrpc.com',
    'https://soroban-rpc.mainnet.stellar.gateway.fm',
  ]),
  stellar(
    { network: 'testnet', passphrase: 'Test SDF Network ; September 2015', is_testnet: true },
    'https://stellar.expert/explorer/testnet',
    ['https://soroban-testnet.stellar.org'],
  ),
  solana({ network: 'mainnet-beta' }, 'https://explorer.solana.com', ['https://api.mainnet-beta.solana.com']),
  solana({ network: 'devnet', is_testnet: true }, 'https://explorer.solana.com?cluster=devnet', ['https://api.devnet.solana.com']),
];
