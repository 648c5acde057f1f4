import type { DescMessage } from '@bufbuild/protobuf';
import { NetworkType } from '../../../gen/relayer/v1/common_pb.js';
import { EvmPoliciesSchema } from '../../../gen/relayer/v1/evm_pb.js';
import { SolanaPoliciesSchema } from '../../../gen/relayer/v1/solana_pb.js';
import { StellarPoliciesSchema } from '../../../gen/relayer/v1/stellar_pb.js';

/** What the console knows of a type of network. */
interface NetworkKind {
  /** Its name in ids and paths of the API, and as the case of unions. */
  readonly name: 'evm' | 'stellar' | 'solana';
  readonly text: string;
  /** The usual native coin. */
  readonly coin: { readonly symbol: string; readonly decimals: number };
  /** The word for the id of a transaction on the chain. */
  readonly hash: string;
  readonly policies: DescMessage;
}

const evm: NetworkKind = { name: 'evm', text: 'EVM', coin: { symbol: 'ETH', decimals: 18 }, hash: 'hash', policies: EvmPoliciesSchema };

const kinds: Readonly<Record<NetworkType, NetworkKind>> = {
  [NetworkType.UNSPECIFIED]: { ...evm, text: 'unknown' },
  [NetworkType.EVM]: evm,
  [NetworkType.STELLAR]: {
    name: 'stellar',
    text: 'Stellar',
    coin: { symbol: 'XLM', decimals: 7 },
    hash: 'hash',
    policies: StellarPoliciesSchema,
  },
  [NetworkType.SOLANA]: {
    name: 'solana',
    text: 'Solana',
    coin: { symbol: 'SOL', decimals: 9 },
    hash: 'signature',
    policies: SolanaPoliciesSchema,
  },
};

/** All types of networks. */
export const networkTypes = [NetworkType.EVM, NetworkType.STELLAR, NetworkType.SOLANA] as const;

/** Returns what the console knows of a type of network; of one that it does not know, what holds for EVM networks. */
export function kindOf(networkType: NetworkType): NetworkKind {
  return kinds[networkType] ?? kinds[NetworkType.UNSPECIFIED];
}

/** Returns the word for the id of a record on its chain. */
export function hashWordOf({ network }: { readonly network: { readonly case: string | undefined } }): string {
  return Object.values(kinds).find(({ name }) => name === network.case)?.hash ?? 'hash';
}
