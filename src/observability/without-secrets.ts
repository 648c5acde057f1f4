import { stdSerializers } from 'pino';
import { isSecret, redacted } from './secret-names.js';

/** Deeper than any line of ours; what lies below is not worth a walk through a cyclic object. */
const depthLimit = 6;

/** A copy of the fields of a log line in which every value under a well-known secret's name, at any depth, is `[redacted]`. */
export function withoutSecrets(fields: object): Record<string, unknown> {
  return copyOf(fields, 0);
}

function copyOf(fields: object, depth: number): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    // Assigned, this one would not become a field.
    if (name !== '__proto__') copy[name] = isSecret(name) ? redacted : plain(value, depth + 1);
  }
  return copy;
}

function plain(value: unknown, depth: number): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= depthLimit) return '[too deep]';
  if (Array.isArray(value)) return value.map((item) => plain(item, depth + 1));
  if (value instanceof Error) return copyOf(stdSerializers.err(value), depth);
  if (value instanceof Date) return value;
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  return copyOf(value, depth);
}
