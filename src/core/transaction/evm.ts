/** EVM transactions: what a caller asks for, what is kept of it, and what one version says. Amounts are in wei. */

/** How fast, and so how dear. */
export type Speed = 'fastest' | 'fast' | 'average' | 'safeLow';

/** An EVM transaction as a caller words it: texts that the chain reads and judges. Absent fields are undefined. */
export interface EvmRequest {
  readonly network: 'evm';
  readonly to: string | undefined;
  readonly valueWei: bigint | undefined;
  readonly data: string | undefined;
  readonly gasLimit: bigint | undefined;
  readonly gasPriceWei: bigint | undefined;
  readonly maxFeePerGasWei: bigint | undefined;
  readonly maxPriorityFeePerGasWei: bigint | undefined;
  readonly speed: Speed | undefined;
  /** RFC 3339; undefined: valid for ever, or as long as what it replaces. */
  readonly validUntil: string | undefined;
}

/** How the caller wants an EVM transaction priced. Explicit prices are the first bid. */
export type EvmPricing =
  | { readonly kind: 'speed'; readonly speed: Speed }
  | { readonly kind: 'legacy'; readonly gasPriceWei: bigint }
  | { readonly kind: 'eip1559'; readonly maxFeePerGasWei: bigint; readonly maxPriorityFeePerGasWei: bigint };

/** What an EVM transaction does. */
export interface EvmContent {
  readonly network: 'evm';
  /** EIP-55; null creates a contract. */
  readonly to: string | null;
  readonly valueWei: bigint;
  /** Lower-case hex with `0x`. */
  readonly data: string | null;
  /** Null: estimated. */
  readonly gasLimit: bigint | null;
  readonly pricing: EvmPricing;
}

/** The price of one version, in wei per gas. */
export type EvmPrice =
  | { readonly kind: 'legacy'; readonly gasPriceWei: bigint }
  | { readonly kind: 'eip1559'; readonly maxFeePerGasWei: bigint; readonly maxPriorityFeePerGasWei: bigint };

/** A version that is priced and can be paid, but has no nonce and no signature. */
export interface EvmDraft {
  readonly network: 'evm';
  readonly to: string | null;
  readonly valueWei: bigint;
  readonly data: string | null;
  readonly gasLimit: bigint;
  readonly price: EvmPrice;
}

/** A secp256k1 signature in its parts. */
export interface EvmSignature {
  /** 64 lower-case hex digits without `0x`. */
  readonly r: string;
  readonly s: string;
  readonly v: 27 | 28;
}

/** What one signed version says. */
export interface EvmAttemptFields extends EvmDraft {
  readonly signature: EvmSignature;
}
