/** Keccak-256 of bytes: 32 bytes. */
export type Keccak256 = (bytes: Uint8Array) => Uint8Array;
