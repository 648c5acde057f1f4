import type { EvmSignature } from '../transaction/evm.js';

/** A key of EVM networks that signs. The key itself never leaves it. */
export interface Secp256k1Signer {
  readonly id: string;
  readonly curve: 'secp256k1';
  /** EIP-55. */
  readonly address: string;
  /** Signs 32 bytes with low s. */
  signDigest(digest: Uint8Array): Promise<EvmSignature>;
}

/** A key of Stellar and Solana networks that signs. The key itself never leaves it. */
export interface Ed25519Signer {
  readonly id: string;
  readonly curve: 'ed25519';
  /** 32 bytes. What addresses are made of differs from network to network. */
  readonly publicKey: Uint8Array;
  /** Signs the message itself, not a digest of it. 64 bytes. */
  sign(message: Uint8Array): Promise<Uint8Array>;
}

/** A key that signs, by the curve that it is on. */
export type Signer = Secp256k1Signer | Ed25519Signer;

/** The name of a signer's curve. */
export type Curve = Signer['curve'];
