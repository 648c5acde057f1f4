import type { CostBound } from './spending-rule.js';

/** Solana transactions. Keys and blockhashes are base58, bytes base64. */

/** An account that an instruction uses. */
export interface SolanaAccountMeta {
  readonly pubkey: string;
  readonly isSigner: boolean;
  readonly isWritable: boolean;
}

/** A call of a program. */
export interface SolanaInstruction {
  readonly programId: string;
  readonly accounts: readonly SolanaAccountMeta[];
  readonly data: string;
}

/** A Solana transaction as requested; unchecked, except that `data` is base64. */
export interface SolanaRequest {
  readonly network: 'solana';
  /** Wire format, base64. */
  readonly transaction: string | undefined;
  /** Empty: absent. */
  readonly instructions: readonly SolanaInstruction[];
  /** Milliseconds since the epoch. */
  readonly validUntilMs: number | undefined;
}

/** The content of a Solana transaction: either a transaction or instructions. */
export interface SolanaContent {
  readonly network: 'solana';
  /** Wire format, as the caller sent it; null if it sent instructions. */
  readonly transaction: string | null;
  /** Empty if the caller sent a transaction. */
  readonly instructions: readonly SolanaInstruction[];
  /** What a rule lets it cost; absent: any amount. */
  readonly maxCost?: CostBound;
}

/** An attempt ready to be signed. */
export interface SolanaDraft {
  readonly network: 'solana';
  /** The message to sign. */
  readonly message: string;
  /** One for each signer of the message, in their order, 64 bytes; null for the relayer's. */
  readonly signatures: readonly (string | null)[];
  readonly recentBlockhash: string;
  /** No block above this height takes the attempt; if the caller chose the blockhash, the maximum possible height. */
  readonly lastValidBlockHeight: bigint;
  /** Slot and height of a confirmed block at the time of drafting. No earlier block contains the attempt. */
  readonly sinceSlot: bigint;
  readonly sinceHeight: bigint;
  /** Includes the priority fee. */
  readonly feeLamports: bigint;
  /** The fee, and what the instructions move out of the relayer's account, as far as they show it. */
  readonly costLamports: bigint;
}

/** The fields of an attempt; its bytes are the transaction in wire format. */
export type SolanaAttemptFields = Omit<SolanaDraft, 'message' | 'signatures'>;
