/** The shapes of a Solana transaction. Keys and blockhashes are base58, bytes base64. */

/** An account that an instruction uses. */
export interface SolanaAccountMeta {
  readonly pubkey: string;
  readonly isSigner: boolean;
  readonly isWritable: boolean;
}

/** One call of a program. */
export interface SolanaInstruction {
  readonly programId: string;
  readonly accounts: readonly SolanaAccountMeta[];
  readonly data: string;
}

/** A Solana transaction as a caller words it; nothing of it is checked but that `data` is base64. */
export interface SolanaRequest {
  readonly network: 'solana';
  /** Wire form, base64. */
  readonly transaction: string | undefined;
  /** Empty counts as absent. */
  readonly instructions: readonly SolanaInstruction[];
  /** RFC 3339. */
  readonly validUntil: string | undefined;
}

/** What a Solana transaction does: exactly one of the two is there. */
export interface SolanaContent {
  readonly network: 'solana';
  /** Wire form, as the caller sent it; null where it sent instructions. */
  readonly transaction: string | null;
  /** Empty where the caller sent a transaction. */
  readonly instructions: readonly SolanaInstruction[];
}

/** A version that can be signed. */
export interface SolanaDraft {
  readonly network: 'solana';
  /** The message to be signed. */
  readonly message: string;
  /** One for each signer of the message, in their order, 64 bytes; null where the relayer's goes. */
  readonly signatures: readonly (string | null)[];
  readonly recentBlockhash: string;
  /** No block above this height takes it; where others chose the blockhash, the greatest height that is possible. */
  readonly lastValidBlockHeight: bigint;
  /** A confirmed block at the time it was made: its slot, and its height. No block before it holds it. */
  readonly sinceSlot: bigint;
  readonly sinceHeight: bigint;
  /** Priority fee included. */
  readonly feeLamports: bigint;
  /** Fee, and what its own instructions move out of the relayer's account, as far as they say so. */
  readonly costLamports: bigint;
}

/** What one signed version says beside its bytes, which are the transaction in wire form. */
export interface SolanaAttemptFields {
  readonly network: 'solana';
  readonly recentBlockhash: string;
  readonly lastValidBlockHeight: bigint;
  readonly sinceSlot: bigint;
  readonly sinceHeight: bigint;
  readonly feeLamports: bigint;
  readonly costLamports: bigint;
}
