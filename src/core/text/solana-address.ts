/** The values of base58 digits by their character codes. */
const base58Values = new Uint8Array(128);
for (const [value, digit] of [...'123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'].entries())
  base58Values[digit.charCodeAt(0)] = value;

/** True for base58 of exactly 32 bytes, which names accounts and programs. */
export function isSolanaAddress(text: string): boolean {
  if (!/^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(text)) return false;
  let zeros = 0;
  while (text[zeros] === '1') zeros += 1;
  // Each leading 1 is a byte of zero; the other bytes are the number's.
  return zeros + byteLengthOfBase58(text) === 32;
}

/** Four base58 digits times 24 bits stay exact in a double. Bigints would block the event loop for a list of thousands of addresses. */
const digitsAtOnce = 4;
const limb = 2 ** 24;

/** The number of bytes of the number that base58 digits denote. */
function byteLengthOfBase58(text: string): number {
  const limbs: number[] = [];
  for (let at = 0; at < text.length; at += digitsAtOnce) {
    let carry = 0;
    let scale = 1;
    for (let digit = at; digit < at + digitsAtOnce && digit < text.length; digit += 1) {
      carry = carry * 58 + (base58Values[text.charCodeAt(digit)] ?? 0);
      scale *= 58;
    }
    for (let index = 0; index < limbs.length || carry > 0; index += 1) {
      const value = (limbs[index] ?? 0) * scale + carry;
      limbs[index] = value % limb;
      carry = Math.floor(value / limb);
    }
  }
  const top = limbs.at(-1) ?? 0;
  return Math.ceil((24 * Math.max(0, limbs.length - 1) + (32 - Math.clz32(top))) / 8);
}
