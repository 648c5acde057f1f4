import type { EvmSignature } from '../records/evm.js';

/** A signing key for EVM networks. The key never leaves its signer. */
export interface Secp256k1Signer {
  readonly id: string;
  readonly curve: 'secp256k1';
  /** The key is outside of this process: a signature takes time, and may fail with `SIGNER_UNAVAILABLE`. */
  readonly isHosted?: true;
  /** EIP-55. */
  readonly address: string;
  /** Signs 32 bytes with low s. Throws DomainError `SIGNER_UNAVAILABLE`. */
  signDigest(digest: Uint8Array): Promise<EvmSignature>;
}

/** A signing key for networks of ed25519 keys. The key never leaves its signer. */
export interface Ed25519Signer {
  readonly id: string;
  readonly curve: 'ed25519';
  /** See `Secp256k1Signer`. */
  readonly isHosted?: true;
  /** 32 bytes. Each network derives its addresses from them in its own way. */
  readonly publicKey: Uint8Array;
  /** Signs the message itself, not a digest of it. 64 bytes. Throws DomainError `SIGNER_UNAVAILABLE`. */
  sign(message: Uint8Array): Promise<Uint8Array>;
}

/** A signing key, by its curve. */
export type Signer = Secp256k1Signer | Ed25519Signer;
