/** A domain of EIP-712 typed data: its separator (64 lower-case hex digits) alone, or the fields that it has. Null: it has none. */
export interface TypedDataDomain {
  readonly separator: string | null;
  readonly name: string | null;
  readonly version: string | null;
  readonly chainId: bigint | null;
  /** Lower case. */
  readonly verifyingContract: string | null;
}

/** What a relayer signs that the service does not send. */
export interface SigningPolicy {
  readonly messages: boolean;
  readonly transactions: boolean;
  /** True: all; false: none. Null: a request left it unclear, which the check of policies refuses. */
  readonly typedData: boolean | readonly TypedDataDomain[] | null;
}
