/**
 * Stellar transactions: what a caller asks for, what is kept of it, and what a signed version says. Plain data; XDR is base64 text.
 *
 * A transaction of the relayer's own account uses that account's next sequence number: its slot. A *fee bump of a foreign envelope* pays the fee of a
 * transaction that another account has signed and numbered: it has no slot of ours.
 */

/** A transaction as a caller words it: texts that the chain reads and judges. Absent fields are undefined. */
export interface StellarRequest {
  readonly network: 'stellar';
  readonly networkName: string | undefined;
  readonly sourceAccount: string | undefined;
  /** Empty is absent. */
  readonly operations: readonly StellarOperation[];
  readonly transactionXdr: string | undefined;
  readonly memo: StellarMemo | undefined;
  /** RFC 3339, or unix seconds in decimal digits. */
  readonly validUntil: string | undefined;
  readonly feeBump: boolean | undefined;
  readonly maxFeeStroops: bigint | undefined;
}

/** A memo as a caller words it; `unset`: it names no kind. */
export type StellarMemo =
  | { readonly kind: 'unset' | 'none' }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'id'; readonly id: bigint }
  | { readonly kind: 'hash' | 'return'; readonly bytes: Uint8Array };

/** An operation as a caller words it; `unset`: it names no kind. */
export type StellarOperation =
  | { readonly kind: 'unset' }
  | { readonly kind: 'payment'; readonly destination: string; readonly amount: bigint; readonly asset: StellarAsset | undefined }
  | {
      readonly kind: 'invoke_contract';
      readonly contractAddress: string;
      readonly functionName: string;
      readonly args: readonly StellarValue[];
      readonly auth: StellarAuth | undefined;
    }
  | {
      readonly kind: 'create_contract';
      readonly source: StellarContractSource | undefined;
      readonly wasmHash: Uint8Array;
      readonly salt: Uint8Array | undefined;
      readonly constructorArgs: readonly StellarValue[];
      readonly auth: StellarAuth | undefined;
    }
  | { readonly kind: 'upload_wasm'; readonly wasm: StellarWasm | undefined; readonly auth: StellarAuth | undefined };

/** An asset as a caller words it. */
export type StellarAsset =
  | { readonly kind: 'unset' | 'native' }
  | { readonly kind: 'credit4' | 'credit12'; readonly code: string; readonly issuer: string };

/** The code of a contract; `kind` is how the caller wrote it. */
export type StellarWasm = { readonly kind: 'unset' } | { readonly kind: 'hex' | 'base64'; readonly bytes: Uint8Array };

/** What a new contract's address is derived from. */
export type StellarContractSource = { readonly kind: 'unset' } | { readonly kind: 'address' | 'contract'; readonly address: string };

/** Who authorizes a contract operation. */
export type StellarAuth =
  | { readonly kind: 'unset' | 'none' | 'source_account' | 'addresses' }
  | { readonly kind: 'xdr'; readonly entries: readonly string[] };

/** Integers of contract values that are wider than 64 bits: their kind and size. */
export type StellarWideKind = 'u128' | 'i128' | 'u256' | 'i256';

/** A contract's value as a caller words it; `unset`: it names no kind, `too_deep`: nobody read further. */
export type StellarValue =
  | { readonly kind: 'unset' | 'too_deep' | 'void' }
  | { readonly kind: 'bool'; readonly value: boolean }
  | { readonly kind: 'u32' | 'i32'; readonly value: number }
  | { readonly kind: 'u64' | 'i64' | 'timepoint' | 'duration'; readonly value: bigint }
  /** `decimal`, or parts of 64 bits from the highest to the lowest, of which an absent one is 0. */
  | { readonly kind: StellarWideKind; readonly decimal: string | undefined; readonly parts: readonly (bigint | undefined)[] }
  | { readonly kind: 'bytes'; readonly value: Uint8Array }
  | { readonly kind: 'string' | 'symbol' | 'address'; readonly value: string }
  | { readonly kind: 'vec'; readonly values: readonly StellarValue[] }
  | {
      readonly kind: 'map';
      readonly entries: readonly { readonly key: StellarValue | undefined; readonly val: StellarValue | undefined }[];
    };

/** Values nested deeper than this are refused; the network's own limit is higher, and bodies of REST end before it. */
export const greatestValueDepth = 32;

/** What a Stellar transaction does. */
export type StellarContent = StellarOperationsContent | StellarFeeBumpContent;

/** Operations of the relayer's own account, which the service numbers and signs. */
export interface StellarOperationsContent {
  readonly network: 'stellar';
  readonly kind: 'operations';
  /** The relayer's account, plain or muxed. */
  readonly sourceAccount: string;
  /** Each base64 XDR of an Operation. */
  readonly operations: readonly string[];
  /** Base64 XDR of a Memo. */
  readonly memo: string;
  /** Where the authorization of a contract operation comes from: a simulation (the source account's), or the operation as it is; see `auth.ts`. */
  readonly auth: 'simulated' | 'given';
  /** Footprint of a pre-built contract transaction, base64 XDR of SorobanTransactionData; null: none was given. */
  readonly sorobanData: string | null;
  /** Before this time, in unix seconds, it is not valid; 0: always. */
  readonly minTimeS: bigint;
  /** After this time, in unix seconds, it is not valid, whatever `validUntilMs` of the transaction says; null: no such bound. */
  readonly maxTimeS: bigint | null;
  /** The caller's ceiling of the whole fee; null: none was named. */
  readonly maxFeeStroops: bigint | null;
}

/** A fee bump of an envelope that another account has numbered and signed. */
export interface StellarFeeBumpContent {
  readonly network: 'stellar';
  readonly kind: 'fee_bump';
  /** The account that signed the envelope, plain or muxed, and the sequence number that it took of its own. */
  readonly sourceAccount: string;
  readonly sequence: bigint;
  /** Base64 XDR of a TransactionEnvelope of version 1. */
  readonly envelope: string;
  /** Lower-case hex. */
  readonly innerHash: string;
  readonly operationCount: number;
  /** What the envelope itself bids for its inclusion; a fee bump bids at least as much for each operation. */
  readonly innerInclusionStroops: bigint;
  readonly resourceFeeStroops: bigint;
  readonly maxTimeS: bigint | null;
  readonly maxFeeStroops: bigint | null;
}

/** A version that is priced and can be paid, but not numbered and signed. */
export interface StellarDraft {
  readonly network: 'stellar';
  /** What is signed inside. `own`: operations that get a sequence number; `signed`: an envelope of version 1 as it is, in base64 XDR. */
  readonly inner: StellarOwnInner | { readonly kind: 'signed'; readonly envelope: string };
  /** The fee of the fee bump around it, in full; null: there is none. */
  readonly bumpFeeStroops: bigint | null;
  readonly bid: StellarBid;
  /** Account and, for an envelope that has one, sequence number that the inner transaction is of. */
  readonly sourceAccount: string;
  readonly sequence: bigint | null;
  readonly maxTimeS: bigint | null;
  /** The newest ledger when it was drafted: no earlier one holds it. */
  readonly ledger: bigint;
  /** The most that the version can take from the relayer's account: its fee and what it pays out in the native asset, as far as is known. */
  readonly costStroops: bigint;
}

/** A transaction of the relayer's own account without its sequence number. */
export interface StellarOwnInner {
  readonly kind: 'own';
  readonly operations: readonly string[];
  readonly memo: string;
  readonly minTimeS: bigint;
  readonly sorobanData: string | null;
  readonly feeStroops: bigint;
}

/** What a version bids: nodes compare the inclusion fee for each operation, and leave the resource fee of contracts out. */
export interface StellarBid {
  /** The whole fee, of the fee bump where there is one. */
  readonly feeStroops: bigint;
  readonly resourceFeeStroops: bigint;
  /** As nodes count them: a fee bump is one more. */
  readonly operationCount: number;
}

/** What one signed version says; its envelope is the attempt's `raw`, base64 XDR. */
export interface StellarAttemptFields {
  readonly network: 'stellar';
  /** Whose sequence number it uses, plain or muxed. */
  readonly sourceAccount: string;
  readonly sequence: bigint;
  readonly bid: StellarBid;
  /** After this time, in unix seconds, no ledger takes it; null: it never ends. */
  readonly maxTimeS: bigint | null;
  /** Hash of the transaction inside a fee bump, lower-case hex; null: it is none. */
  readonly innerHash: string | null;
  /** See `StellarDraft`. */
  readonly ledger: bigint;
  /** See `StellarDraft`. */
  readonly costStroops: bigint;
}
