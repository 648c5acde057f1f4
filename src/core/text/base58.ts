/** The values of base58 digits by their character codes. */
const digitValues = new Uint8Array(128);
for (const [value, digit] of [...'123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'].entries())
  digitValues[digit.charCodeAt(0)] = value;

/** Four base58 digits times 24 bits stay exact in a double. Bigints would block the event loop for a list of thousands of addresses. */
const digitsAtOnce = 4;
const limbBytes = 3;
const limb = 2 ** (8 * limbBytes);

/** Returns the bytes that a base58 text denotes; null if it is not base58 of exactly this number of bytes. */
export function bytesFromBase58(text: string, length: number): Uint8Array | null {
  // No byte needs more than two digits, so a longer text is not decoded.
  if (text.length > 2 * length || !/^[1-9A-HJ-NP-Za-km-z]*$/.test(text)) return null;
  let zeros = 0;
  while (text[zeros] === '1') zeros += 1;
  const limbs = limbsOf(text);
  const top = limbs.at(-1) ?? 0;
  const significant = Math.ceil((8 * limbBytes * Math.max(0, limbs.length - 1) + (32 - Math.clz32(top))) / 8);
  // Each leading 1 is a byte of zero; the other bytes are the number's.
  if (zeros + significant !== length) return null;
  const bytes = new Uint8Array(length);
  for (let index = 0; index < significant; index += 1) {
    bytes[length - 1 - index] = (limbs[Math.floor(index / limbBytes)] ?? 0) >>> (8 * (index % limbBytes));
  }
  return bytes;
}

/** The number that base58 digits denote, in limbs of 24 bits, the lowest first. */
function limbsOf(text: string): readonly number[] {
  const limbs: number[] = [];
  for (let at = 0; at < text.length; at += digitsAtOnce) {
    let carry = 0;
    let scale = 1;
    for (let digit = at; digit < at + digitsAtOnce && digit < text.length; digit += 1) {
      carry = carry * 58 + (digitValues[text.charCodeAt(digit)] ?? 0);
      scale *= 58;
    }
    for (let index = 0; index < limbs.length || carry > 0; index += 1) {
      const value = (limbs[index] ?? 0) * scale + carry;
      limbs[index] = value % limb;
      carry = Math.floor(value / limb);
    }
  }
  return limbs;
}
