import { invalidField } from '../../core/errors.js';

/** An XDR type that can be decoded. */
export interface XdrReader<T> {
  fromXDR(bytes: Buffer): T;
}

/** Reads base64 XDR of a request field; `what` completes "must be base64 XDR of ...". Throws `DomainError` (400) naming the field. */
export function readXdrField<T>(type: XdrReader<T>, text: string, field: string, what: string): T {
  const read = readXdr(type, text);
  if (read === null) throw invalidField(field, `must be base64 XDR of ${what}`);
  return read;
}

/** Reads base64 XDR without trailing bytes; null if it is invalid. */
export function readXdr<T>(type: XdrReader<T>, text: string): T | null {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return null;
  try {
    return type.fromXDR(Buffer.from(text, 'base64'));
  } catch {
    // Hostile XDR can fail in any way, for example by nesting that overflows the stack.
    return null;
  }
}
