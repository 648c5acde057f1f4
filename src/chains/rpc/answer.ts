import { MalformedAnswerError } from './node-error.js';

/** A JSON object in a node's answer. */
export type Answer = Readonly<Record<string, unknown>>;

/** Reads an object. Throws `MalformedAnswerError`. */
export function objectFrom(value: unknown, what: string): Answer {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new MalformedAnswerError(what);
  return value as Answer;
}

/** Reads a list. Throws `MalformedAnswerError`. */
export function listFrom(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new MalformedAnswerError(what);
  return value;
}

/**
 * Reports whether a value nests deeper than `levels`. JSON.parse reads any depth, but JSON.stringify and recursive readers overflow the
 * stack.
 */
export function isNestedOver(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((part) => isNestedOver(part, levels - 1));
}

const maxTextBytes = 1024;

/** Makes a node's text safe for sentences, records and logs: escapes control and format characters, cuts to 1 KiB. */
export function nodeText(text: string): string {
  // Cut first, so that long hostile text is not escaped in full; cut again, since escaping makes text longer.
  const escaped = text.slice(0, maxTextBytes).replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, escapeOf);
  const bytes = Buffer.from(escaped);
  if (bytes.length <= maxTextBytes) return escaped;
  // A character cut in half decodes to U+FFFD.
  return bytes.toString('utf8', 0, maxTextBytes).replace(/\uFFFD$/u, '');
}

function escapeOf(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
