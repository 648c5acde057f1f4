import { DomainError, invalidField } from '../../core/errors.js';

/** What can be read from XDR. */
export interface XdrReader<T> {
  fromXDR(bytes: Buffer): T;
}

/**
 * Reads a caller's base64 XDR, which must be all of it and nothing more. `what` completes "must be base64 XDR of ...". Throws `DomainError` (400) naming
 * the field.
 */
export function readXdrField<T>(type: XdrReader<T>, text: string, field: string, what: string): T {
  const read = readXdr(type, text);
  if (read === null) throw invalidField(field, `must be base64 XDR of ${what}`);
  return read;
}

/** Reads base64 XDR; null where it is none. */
export function readXdr<T>(type: XdrReader<T>, text: string): T | null {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return null;
  try {
    return type.fromXDR(Buffer.from(text, 'base64'));
  } catch (error) {
    // Hostile XDR can be wrong in any way, a nest too deep for the stack included.
    if (error instanceof DomainError) throw error;
    return null;
  }
}
