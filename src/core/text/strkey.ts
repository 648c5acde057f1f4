const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** True if the checksum of a Stellar address (`G...`, `M...`, `C...`) is right. */
export function isStrKey(text: string): boolean {
  const bits = [...text].map((digit) => digits.indexOf(digit).toString(2).padStart(5, '0')).join('');
  const bytes = Array.from({ length: Math.floor(bits.length / 8) }, (_, at) => Number.parseInt(bits.slice(8 * at, 8 * at + 8), 2));
  const checksum = crc16(bytes.slice(0, -2));
  const isCanonical = !bits.slice(8 * bytes.length).includes('1');
  return isCanonical && bytes.at(-2) === (checksum & 0xff) && bytes.at(-1) === checksum >> 8;
}

/** The checksum of SEP-23: CRC-16 with the polynomial 0x1021, from 0. */
function crc16(bytes: readonly number[]): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc << 1) ^ ((crc & 0x8000) === 0 ? 0 : 0x1021)) & 0xffff;
  }
  return crc;
}
