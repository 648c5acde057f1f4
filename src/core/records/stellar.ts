import type { CostBound } from './spending-rule.js';

/**
 * Stellar transactions: the caller's request, the stored content, and the fields of an attempt. XDR is base64 text.
 *
 * A transaction of the relayer's account uses that account's next sequence number, its slot. A *fee bump of a foreign envelope* pays the
 * fee of a transaction that another account has signed and numbered; it is unsequenced.
 */

/** A transaction as requested; the chain adapter checks its texts. Absent fields are undefined. */
export interface StellarRequest {
  readonly network: 'stellar';
  readonly networkName: string | undefined;
  readonly sourceAccount: string | undefined;
  /** Empty: absent. */
  readonly operations: readonly StellarOperation[];
  readonly transactionXdr: string | undefined;
  readonly memo: StellarMemo | undefined;
  /** Milliseconds since the epoch. */
  readonly validUntilMs: number | undefined;
  readonly feeBump: boolean | undefined;
  readonly maxFeeStroops: bigint | undefined;
}

/** A memo as requested; `unset`: it names no kind. */
export type StellarMemo =
  | { readonly kind: 'unset' | 'none' }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'id'; readonly id: bigint }
  | { readonly kind: 'hash' | 'return'; readonly bytes: Uint8Array };

/** An operation as requested; its source account is the transaction's if it names none. */
export type StellarOperation = StellarOperationContent & { readonly sourceAccount?: string | undefined };

/** What an operation does; `unset`: it names no kind. */
type StellarOperationContent =
  | { readonly kind: 'unset' }
  /** An operation of the table of operations (`src/chains/stellar/operation-table.ts`), which reads its fields. */
  | { readonly kind: 'listed'; readonly type: string; readonly fields: StellarFields }
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

/** The fields of a listed operation by their names. A union is `kind`, the name of its case, and `value`. */
export interface StellarFields {
  readonly [name: string]: StellarField;
}

/** The value of such a field; undefined: absent. */
export type StellarField = undefined | boolean | number | bigint | string | Uint8Array | readonly StellarField[] | StellarFields;

/** An asset as requested. */
export type StellarAsset =
  | { readonly kind: 'unset' | 'native' }
  | { readonly kind: 'credit4' | 'credit12'; readonly code: string; readonly issuer: string };

/** The code of a contract; `kind` is the encoding that the caller used. */
export type StellarWasm = { readonly kind: 'unset' } | { readonly kind: 'hex' | 'base64'; readonly bytes: Uint8Array };

/** The source of a new contract's address. */
export type StellarContractSource = { readonly kind: 'unset' } | { readonly kind: 'address' | 'contract'; readonly address: string };

/** The authorization of a contract operation. */
export type StellarAuth =
  | { readonly kind: 'unset' | 'none' | 'source_account' | 'addresses' }
  | { readonly kind: 'xdr'; readonly entries: readonly string[] };

/** The integer types wider than 64 bits. */
export type StellarWideKind = 'u128' | 'i128' | 'u256' | 'i256';

/** A contract value as requested; `unset`: it names no kind; `too_deep`: nested values below were not read. */
export type StellarValue =
  | { readonly kind: 'unset' | 'too_deep' | 'void' }
  | { readonly kind: 'bool'; readonly value: boolean }
  | { readonly kind: 'u32' | 'i32'; readonly value: number }
  | { readonly kind: 'u64' | 'i64' | 'timepoint' | 'duration'; readonly value: bigint }
  /** `decimal`, or parts of 64 bits from the highest to the lowest; an absent part is 0. */
  | { readonly kind: StellarWideKind; readonly decimal: string | undefined; readonly parts: readonly (bigint | undefined)[] }
  | { readonly kind: 'bytes'; readonly value: Uint8Array }
  | { readonly kind: 'string' | 'symbol' | 'address'; readonly value: string }
  | { readonly kind: 'vec'; readonly values: readonly StellarValue[] }
  | {
      readonly kind: 'map';
      readonly entries: readonly { readonly key: StellarValue | undefined; readonly val: StellarValue | undefined }[];
    };

/** The maximum nesting of values. The network's own limit is higher; the limit of REST bodies is lower. */
export const maxValueDepth = 32;

/** The content of a Stellar transaction. */
export type StellarContent = StellarOperationsContent | StellarFeeBumpContent;

/** Operations of the relayer's account; the service numbers and signs them. */
export interface StellarOperationsContent {
  readonly network: 'stellar';
  readonly kind: 'operations';
  /** The relayer's account, plain or muxed. */
  readonly sourceAccount: string;
  /** Each base64 XDR of an Operation. */
  readonly operations: readonly string[];
  /** Base64 XDR of a Memo. */
  readonly memo: string;
  /**
   * Where the authorization of a contract operation comes from: a simulation (for the source account), or the operation itself; see
   * `AuthSource`.
   */
  readonly auth: 'simulated' | 'given';
  /** Footprint of a pre-built contract transaction, base64 XDR of SorobanTransactionData; null: none was given. */
  readonly sorobanData: string | null;
  /** Unix seconds before which it is not valid; 0: no limit. */
  readonly minTimeS: bigint;
  /** Unix seconds after which it is not valid, in addition to the transaction's `validUntilMs`; null: no limit. */
  readonly maxTimeS: bigint | null;
  /**
   * How long it is valid from its first signature on if nothing else limits it: time that it waits unsigned does not count. Null: no limit.
   */
  readonly validityMs: number | null;
  /** The caller's maximum of the whole fee; null: none. */
  readonly maxFeeStroops: bigint | null;
  /** The transaction that restores the archived entries which its contract call uses; absent: none does. */
  readonly restoredBy?: string;
  /** What a rule lets it cost; absent: any amount. */
  readonly maxCost?: CostBound;
}

/** A fee bump of an envelope that another account numbered and signed. */
export interface StellarFeeBumpContent {
  readonly network: 'stellar';
  readonly kind: 'fee_bump';
  /** The account that signed the envelope, plain or muxed, and its sequence number. */
  readonly sourceAccount: string;
  readonly sequence: bigint;
  /** Base64 XDR of a TransactionEnvelope of version 1. */
  readonly envelope: string;
  /** Lower-case hex. */
  readonly innerHash: string;
  readonly operationCount: number;
  /** The envelope's own inclusion bid; a fee bump must bid at least as much for each operation. */
  readonly innerInclusionStroops: bigint;
  readonly resourceFeeStroops: bigint;
  readonly maxTimeS: bigint | null;
  readonly maxFeeStroops: bigint | null;
  /** What a rule lets it cost; absent: any amount. */
  readonly maxCost?: CostBound;
}

/** An attempt that is priced and checked for funds, but not numbered and signed. */
export interface StellarDraft {
  readonly network: 'stellar';
  /** The inner transaction. `own`: operations that get a sequence number; `signed`: a version 1 envelope as it is, in base64 XDR. */
  readonly inner: StellarOwnInner | { readonly kind: 'signed'; readonly envelope: string };
  /** The whole fee of the fee bump around it; null: there is no fee bump. */
  readonly bumpFeeStroops: bigint | null;
  readonly bid: StellarBid;
  /** The account whose sequence number it uses, plain or muxed. */
  readonly sourceAccount: string;
  /** The sequence number of a signed envelope; null for operations, which have none yet. */
  readonly sequence: bigint | null;
  /** Unix seconds after which no ledger takes it; null: no limit. */
  readonly maxTimeS: bigint | null;
  /** The newest ledger at the time of drafting. No earlier ledger contains the attempt. */
  readonly ledger: bigint;
  /** The maximum that the attempt takes from the relayer's account: its fee and its known payments in the native asset. */
  readonly costStroops: bigint;
}

/** A transaction of the relayer's account without its sequence number. */
export interface StellarOwnInner {
  readonly kind: 'own';
  readonly operations: readonly string[];
  readonly memo: string;
  readonly minTimeS: bigint;
  readonly sorobanData: string | null;
  readonly feeStroops: bigint;
}

/** The bid of an attempt. Nodes compare the inclusion fee per operation, without the resource fee of contracts. */
export interface StellarBid {
  /** The whole fee; for a fee bump, the fee of its outer envelope. */
  readonly feeStroops: bigint;
  readonly resourceFeeStroops: bigint;
  /** As nodes count them: a fee bump counts as one more. */
  readonly operationCount: number;
}

/** The fields of an attempt; its envelope is the attempt's `raw`, base64 XDR. */
export interface StellarAttemptFields
  extends Pick<StellarDraft, 'network' | 'sourceAccount' | 'bid' | 'maxTimeS' | 'ledger' | 'costStroops'> {
  readonly sequence: bigint;
  /** Hash of the transaction inside the fee bump, lower-case hex; null: not a fee bump. */
  readonly innerHash: string | null;
}
