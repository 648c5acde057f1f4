import { createKeccak, type IHasher } from 'hash-wasm';

let hasher: IHasher | undefined;

/** Loads the hash function, once, at start-up. Before that, `keccak256` throws. */
export async function initKeccak(): Promise<void> {
  hasher ??= await createKeccak(256);
}

/**
 * Computes Keccak-256; the caller owns the 32 bytes. Uses WebAssembly, since JavaScript takes ten times as long and OpenSSL has only SHA-3.
 * All callers can share one instance, because nothing is awaited between its methods.
 */
export function keccak256(bytes: Uint8Array): Uint8Array {
  if (hasher === undefined) throw new Error('initKeccak() must be awaited before the first hash');
  return hasher.init().update(bytes).digest('binary');
}
