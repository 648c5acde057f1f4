import { MalformedAnswerError } from './node-error.js';

/** An object of a node's answer, by field. */
export type Answer = Readonly<Record<string, unknown>>;

/** Reads an object. Throws `MalformedAnswerError` when it is none. */
export function objectFrom(value: unknown, what: string): Answer {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new MalformedAnswerError(what);
  return value as Answer;
}

/** Reads a list. Throws `MalformedAnswerError` when it is none. */
export function listFrom(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new MalformedAnswerError(what);
  return value;
}

/** True where objects and arrays are nested deeper than this: JSON.parse reads any depth, but JSON.stringify and whoever else walks down runs out of stack. */
export function isNestedOver(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((part) => isNestedOver(part, levels - 1));
}

const maxTextBytes = 1024;

/** Text of a node, made fit for a sentence, a record and a log: control and format characters escaped, cut to 1 KiB. */
export function nodeText(text: string): string {
  // Cut twice: hostile text is not escaped in full only to be thrown away, and escaping makes text longer.
  const escaped = text.slice(0, maxTextBytes).replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, escapeOf);
  const bytes = Buffer.from(escaped);
  if (bytes.length <= maxTextBytes) return escaped;
  // A cut character shows as U+FFFD, which is dropped.
  return bytes
    .subarray(0, maxTextBytes)
    .toString()
    .replace(/\uFFFD$/u, '');
}

function escapeOf(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
