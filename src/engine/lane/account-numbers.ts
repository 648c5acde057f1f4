/**
 * Returns the nonces from `chainNonce` (the first that no block holds) up to `signedNonce` (one above the highest that we signed) that are not
 * taken, lowest first, at most `max`.
 */
export function emptyNonces(chainNonce: bigint, signedNonce: bigint, isTaken: (nonce: bigint) => boolean, max: number): readonly bigint[] {
  const empty: bigint[] = [];
  for (let nonce = chainNonce; nonce < signedNonce && empty.length < max; nonce += 1n) {
    if (!isTaken(nonce)) empty.push(nonce);
  }
  return empty;
}
