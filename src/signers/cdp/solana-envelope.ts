/** A transaction without signatures, and the place of the account's signature in it. */
export interface SolanaEnvelope {
  readonly transaction: Uint8Array;
  readonly index: number;
}

const keyBytes = 32;
const signatureBytes = 64;
/** A version is marked by the highest bit of the first byte. */
const versionBit = 0x80;

/** Returns the transaction of a message that the account must sign; null if the bytes are none. */
export function envelopeOf(message: Uint8Array, account: Uint8Array): SolanaEnvelope | null {
  const start = ((message[0] ?? 0) & versionBit) === 0 ? 0 : 1;
  const signers = message[start] ?? 0;
  const keys = compactLength(message, start + 3);
  // More signers do not fit into a transaction.
  if (keys === null || signers === 0 || signers > keys.length || signers >= versionBit) return null;
  if (keys.next + keys.length * keyBytes > message.length) return null;
  for (let index = 0; index < signers; index += 1) {
    const at = keys.next + index * keyBytes;
    if (Buffer.compare(message.subarray(at, at + keyBytes), account) !== 0) continue;
    return { transaction: Buffer.concat([Buffer.of(signers), Buffer.alloc(signers * signatureBytes), message]), index };
  }
  return null;
}

/** Returns the signature at a place of a signed transaction; null if it has none there. */
export function signatureAt(transaction: Uint8Array, index: number): Uint8Array | null {
  const start = 1 + index * signatureBytes;
  if (index >= (transaction[0] ?? 0) || start + signatureBytes > transaction.length) return null;
  return transaction.subarray(start, start + signatureBytes);
}

/** Reads a length in Solana's form of 7 bits per byte. */
function compactLength(bytes: Uint8Array, start: number): { readonly length: number; readonly next: number } | null {
  let length = 0;
  for (let place = 0; place < 3; place += 1) {
    const byte = bytes[start + place];
    if (byte === undefined) return null;
    length |= (byte & 0x7f) << (7 * place);
    if (byte < 0x80) return { length, next: start + place + 1 };
  }
  return null;
}
