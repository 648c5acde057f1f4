/**
 * The gaps of a lane: nonces that the chain has not used and that we have passed, which no open transaction has. Lowest first, `most` at most; looks at
 * no more nonces than it must. `chainNonce`: the first that no block holds; `nextNonce`: the first that we have not given out.
 */
export function emptyNonces(chainNonce: bigint, nextNonce: bigint, isTaken: (nonce: bigint) => boolean, most: number): readonly bigint[] {
  const empty: bigint[] = [];
  for (let nonce = chainNonce; nonce < nextNonce && empty.length < most; nonce += 1n) {
    if (!isTaken(nonce)) empty.push(nonce);
  }
  return empty;
}
