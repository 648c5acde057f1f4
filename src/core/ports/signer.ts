import type { EvmSignature } from '../transaction/transaction.js';

/** A key that signs. The key itself never leaves it. */
export interface Signer {
  readonly id: string;
  /** EIP-55. */
  readonly address: string;
  /** Signs 32 bytes with low s. */
  signDigest(digest: Uint8Array): Promise<EvmSignature>;
}
