import { createKeccak } from 'hash-wasm';

// Compiling it takes a millisecond; so no caller has to remember to wait for it.
const hasher = await createKeccak(256);

/**
 * Computes Keccak-256; the caller owns the 32 bytes. Uses WebAssembly, since JavaScript takes ten times as long and OpenSSL has only SHA-3.
 * All callers can share one instance, because nothing is awaited between its methods.
 */
export function keccak256(bytes: Uint8Array): Uint8Array {
  return hasher.init().update(bytes).digest('binary');
}
