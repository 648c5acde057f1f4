/** What nodes may say without a proof, because much of it was proved not long ago. */
export interface TrustedAmount {
  /** Returns the highest amount that needs no proof. */
  highest(): bigint;
  /** Takes note of an amount that was proved. What was proved before it no longer counts. */
  proved(amount: bigint): void;
}

/** A proof counts for this long: what was paid in a spike says nothing about an hour later. */
const trustedForMs = 600_000;

/**
 * Creates the trust in amounts of one kind. `harmless`: up to this no amount ever needs a proof. `factor`: nor does one up to this multiple
 * of a proved one.
 */
export function createTrustedAmount(harmless: bigint, factor: bigint, nowMs: () => number): TrustedAmount {
  let last: { readonly highest: bigint; readonly untilMs: number } | null = null;
  return {
    highest: () => (last === null || nowMs() >= last.untilMs || last.highest < harmless ? harmless : last.highest),
    proved(amount) {
      last = { highest: amount * factor, untilMs: nowMs() + trustedForMs };
    },
  };
}
