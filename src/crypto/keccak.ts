import { createKeccak, type IHasher } from 'hash-wasm';

let hasher: IHasher | undefined;

/** Loads the hash, once, at start. Until it resolves `keccak256` throws. */
export async function initKeccak(): Promise<void> {
  hasher ??= await createKeccak(256);
}

/**
 * Keccak-256 of the bytes: 32 bytes of the caller's own. WebAssembly, since the JavaScript ones cost ten times as much and OpenSSL has only SHA-3.
 * One instance serves all, which is safe because nothing is awaited between its calls.
 */
export function keccak256(bytes: Uint8Array): Uint8Array {
  if (hasher === undefined) throw new Error('initKeccak() must be awaited before the first hash');
  return hasher.init().update(bytes).digest('binary');
}
