import type { xdr } from '@stellar/stellar-sdk';
import { invalidField } from '../../core/errors/errors.js';

/** An XDR type that can be decoded. */
export type XdrReader<Wire, T extends xdr.XdrValue> = Pick<xdr.XdrValueConstructor<Wire, T>, 'schema' | 'fromXdrObject'>;

/** Above every network's limit of a whole transaction: 132096 bytes for a contract call, less for others. */
const maxXdrBytes = 256 * 1024;

/**
 * Reads base64 XDR of a request field; `what` completes "must be base64 XDR of ...". Throws `DomainError` (400) naming the field, also if
 * it is larger than networks accept: XDR of 1 MiB may have a quarter of a million values, which take a second to read and write.
 */
export function readXdrField<Wire, T extends xdr.XdrValue>(type: XdrReader<Wire, T>, text: string, field: string, what: string): T {
  if (isTooLong(text)) throw invalidField(field, `must be at most ${maxXdrBytes} bytes; networks accept no more`);
  const read = readXdr(type, text);
  if (read === null) throw invalidField(field, `must be base64 XDR of ${what}`);
  return read;
}

function isTooLong(text: string): boolean {
  return text.length > (maxXdrBytes / 3) * 4;
}

/** Reads base64 XDR without trailing bytes; null if it is invalid, or larger than networks accept: a node's answer may be hostile. */
export function readXdr<Wire, T extends xdr.XdrValue>(type: XdrReader<Wire, T>, text: string): T | null {
  if (isTooLong(text) || text.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return null;
  try {
    return type.fromXdrObject(type.schema.decode(Buffer.from(text, 'base64')));
  } catch {
    // Hostile XDR can fail in any way, for example by nesting that overflows the stack.
    return null;
  }
}
