/** EVM transactions: the caller's request, the stored content, and the fields of an attempt. Amounts are in wei. */
import type { CostBound } from './spending-rule.js';

/** How fast a transaction should be mined; faster costs more. */
export type Speed = 'fastest' | 'fast' | 'average' | 'safeLow';

/** A function call as requested; the chain adapter checks its texts. */
export interface EvmCallRequest {
  /** A human-readable signature, or a name that the ABI has once. */
  readonly function: string;
  /** JSON text of an array or an object; empty: no arguments. */
  readonly args: string;
  /** JSON text; undefined: none. */
  readonly abi?: string | undefined;
}

/** The function call that call data encodes. */
export interface EvmCall {
  /** Its signature, with the names that are known. */
  readonly function: string;
  /** JSON text in the shape that the caller used; integers are strings of decimal digits. */
  readonly args: string;
}

/** An EVM transaction as requested; the chain adapter checks its texts. Absent fields are undefined. */
export interface EvmRequest {
  readonly network: 'evm';
  readonly to: string | undefined;
  readonly valueWei: bigint | undefined;
  readonly data: string | undefined;
  /** Undefined: `data` has the call data. */
  readonly call: EvmCallRequest | undefined;
  readonly gasLimit: bigint | undefined;
  readonly gasPriceWei: bigint | undefined;
  readonly maxFeePerGasWei: bigint | undefined;
  readonly maxPriorityFeePerGasWei: bigint | undefined;
  readonly speed: Speed | undefined;
  /** Milliseconds since the epoch; undefined: no limit, or the limit of the transaction it replaces. */
  readonly validUntilMs: number | undefined;
}

/** The price of an attempt, in wei per gas. */
export type EvmPrice =
  | { readonly kind: 'legacy'; readonly gasPriceWei: bigint }
  | { readonly kind: 'eip1559'; readonly maxFeePerGasWei: bigint; readonly maxPriorityFeePerGasWei: bigint };

/** How an EVM transaction is priced. Explicit prices are the first bid. */
export type EvmPricing = { readonly kind: 'speed'; readonly speed: Speed } | EvmPrice;

/** The content of an EVM transaction. */
export interface EvmContent {
  readonly network: 'evm';
  /** EIP-55; null creates a contract. */
  readonly to: string | null;
  readonly valueWei: bigint;
  /** Lower-case hex with `0x`. */
  readonly data: string | null;
  /** What `data` encodes; absent if the caller gave `data`. */
  readonly call?: EvmCall;
  /** Null: estimated. */
  readonly gasLimit: bigint | null;
  readonly pricing: EvmPricing;
  /** The bound of the rule that allowed it when it was accepted; absent: the rule had none. */
  readonly maxCost?: CostBound;
}

/** An attempt that is priced and checked for funds, without nonce and signature. */
export interface EvmDraft extends Pick<EvmContent, 'network' | 'to' | 'valueWei' | 'data' | 'call'> {
  readonly gasLimit: bigint;
  readonly price: EvmPrice;
  /**
   * What the network charges on top of gas to publish the transaction (the L1 fee of OP stack networks), with a margin; 0 if it charges
   * nothing.
   */
  readonly publishingFeeWei: bigint;
}

/** A secp256k1 signature in its parts. */
export interface EvmSignature {
  /** 64 lower-case hex digits without `0x`. */
  readonly r: string;
  readonly s: string;
  readonly v: 27 | 28;
}

/** The fields of an attempt. */
export interface EvmAttemptFields extends EvmDraft {
  readonly signature: EvmSignature;
}
