/** Reads standard base64 with its padding, strictly: null where another text would stand for the same bytes, or none. */
export function bytesFromBase64(text: string): Uint8Array | null {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : null;
}

/** Standard base64 with padding. */
export function base64From(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
