import { keccak256 } from './keccak.js';
import { secp256k1 } from './secp256k1.js';

/** The code of `a`, and how far the code of a lower-case letter is above the code of its upper-case letter. */
const letterA = 0x61;
const lowerAboveUpper = 0x20;

/** Converts an address to EIP-55. The text must be `0x` and 40 hex digits. */
export function checksumAddress(address: string): string {
  const digits = Buffer.from(address.slice(2).toLowerCase(), 'latin1');
  const hash = keccak256(digits);
  for (let index = 0; index < digits.length; index += 1) {
    const digit = digits[index] ?? 0;
    const nibble = ((hash[index >> 1] ?? 0) >> (index % 2 === 0 ? 4 : 0)) & 15;
    if (nibble >= 8 && digit >= letterA) digits[index] = digit - lowerAboveUpper;
  }
  return `0x${digits.toString('latin1')}`;
}

/** Returns the EIP-55 address of a public key of 33 or 65 bytes. Throws if the bytes are not a point of the curve. */
export function addressOfPublicKey(publicKey: Uint8Array): string {
  // The first byte of 65 says only that both coordinates follow.
  const coordinates = secp256k1.publicKeyConvert(publicKey, false).subarray(1);
  return checksumAddress(`0x${Buffer.from(keccak256(coordinates).subarray(12)).toString('hex')}`);
}

/**
 * Returns the EIP-55 address of the key that signed a digest, from `r` and `s` of 32 bytes each. An `s` in the upper half recovers too.
 * Throws if no key signed so.
 */
export function recoverAddress(digest: Uint8Array, signature: Uint8Array, recoveryId: 0 | 1): string {
  return addressOfPublicKey(secp256k1.ecdsaRecover(signature, recoveryId, digest, false));
}

/** Returns the EIP-55 address of the contract that this account creates with this nonce: the end of the hash of both as an RLP list. */
export function createdAddress(account: string, nonce: bigint): string {
  const digits = nonce.toString(16);
  const number = nonce === 0n ? Buffer.alloc(0) : Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex');
  const nonceItem = nonce > 0n && nonce < 0x80n ? number : Buffer.concat([Buffer.of(0x80 + number.length), number]);
  const items = Buffer.concat([Buffer.of(0x80 + 20), Buffer.from(account.slice(2), 'hex'), nonceItem]);
  const hash = keccak256(Buffer.concat([Buffer.of(0xc0 + items.length), items]));
  return checksumAddress(`0x${Buffer.from(hash.subarray(12)).toString('hex')}`);
}
