import { isUtf8 } from 'node:buffer';
import { shownName } from '../core/text/safe-text.js';
import { JsonNumber, type JsonObject, type JsonValue } from './json-value.js';

/** Maximum nesting; the outermost value is level 1. */
const maxDepth = 64;

/** A double holds every integer of this many digits exactly. */
const maxPlainDigits = 15;

const numberToken = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;

/**
 * The text is not JSON that we accept. `message` completes a sentence that begins with what was read ("the body ...", "config.json: ...").
 * It gives line and column and never quotes a value, which may be a secret.
 */
export class JsonError extends Error {
  override readonly name = 'JsonError';
}

/**
 * Reads a JSON text: what JSON.parse accepts, except duplicate keys and nesting above 64 levels. Numbers keep every digit. Time and memory
 * are linear in the size of the text, even if it has extreme numbers. Throws JsonError.
 */
export function jsonFromText(text: string): JsonValue {
  return new Scanner(text).document();
}

/**
 * Reads a JSON text in UTF-8 with at most `maxValues` values. A byte order mark is an error unless it is allowed: editors put it into
 * files. Throws JsonError.
 */
export function jsonFromBytes(bytes: Buffer, { allowByteOrderMark = false, maxValues = Number.POSITIVE_INFINITY } = {}): JsonValue {
  if (!isUtf8(bytes)) throw new JsonError('is not valid UTF-8');
  const text = bytes.toString('utf8');
  if (hasMoreValues(text, maxValues)) throw new JsonError(`has more than ${maxValues} values`);
  return jsonFromText(allowByteOrderMark && text.startsWith('\ufeff') ? text.slice(1) : text);
}

/**
 * True if a JSON text has more values than the limit, nested ones included. Counts commas and opening brackets outside of strings, which
 * costs a hundredth of reading the text.
 */
export function hasMoreValues(text: string, limit: number): boolean {
  // Every value has at least one character.
  if (text.length <= limit) return false;
  let count = 0;
  for (let at = 0; at < text.length && count <= limit; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at);
    else if (code === comma || code === openBrace || code === openBracket) count += 1;
  }
  return count > limit;
}

/**
 * Returns the index of the quote that closes a string: the first behind its start that is not escaped, which an even number of backslashes
 * precedes.
 */
function endOfString(text: string, start: number): number {
  for (let end = start; ; ) {
    end = text.indexOf('"', end + 1);
    if (end === -1) return text.length;
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === backslash) backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
}

/**
 * Returns the text of a member's value in the text of a JSON object, digit for digit; null if there is no such member. Reads leniently,
 * since the text is a node's answer that JSON.parse has accepted: of duplicate keys the last one counts, as in JSON.parse, and any nesting
 * is fine.
 */
export function memberText(text: string, name: string): string | null {
  return new Scanner(text).memberText(name);
}

/** Character codes of JSON's grammar. */
const tab = 0x09;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;
const quote = 0x22;
const comma = 0x2c;
const minus = 0x2d;
const dot = 0x2e;
const zero = 0x30;
const nine = 0x39;
const colon = 0x3a;
const upperE = 0x45;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const lowerE = 0x65;
const openBrace = 0x7b;
const closeBrace = 0x7d;

class Scanner {
  #at = 0;

  constructor(readonly text: string) {}

  document(): JsonValue {
    const value = this.#value(1);
    this.#skipSpace();
    if (this.#at !== this.text.length) throw this.#syntaxError('expected the end of the text');
    return value;
  }

  memberText(name: string): string | null {
    let found: string | null = null;
    this.#expect(openBrace, '"{"');
    if (this.#takes(closeBrace)) return null;
    for (;;) {
      const key = this.#key();
      this.#skipSpace();
      const start = this.#at;
      this.#skipValue();
      if (key === name) found = this.text.slice(start, this.#at);
      if (this.#takes(closeBrace)) return found;
      this.#expect(comma, '"," or "}"');
    }
  }

  #value(depth: number): JsonValue {
    this.#skipSpace();
    switch (this.text.charCodeAt(this.#at)) {
      case quote:
        return this.#string();
      case openBrace:
        return this.#object(depth);
      case openBracket:
        return this.#array(depth);
      case 0x74:
        return this.#word('true', true);
      case 0x66:
        return this.#word('false', false);
      case 0x6e:
        return this.#word('null', null);
      default:
        return this.#number();
    }
  }

  #object(depth: number): JsonObject {
    this.#checkDepth(depth);
    const object: JsonObject = new Map();
    this.#at += 1;
    if (this.#takes(closeBrace)) return object;
    for (;;) {
      this.#skipSpace();
      const start = this.#at;
      const key = this.#key();
      if (object.has(key)) throw this.#error(`has the key ${JSON.stringify(shownName(key))} twice in one object, again`, start);
      object.set(key, this.#value(depth + 1));
      if (this.#takes(closeBrace)) return object;
      this.#expect(comma, '"," or "}"');
    }
  }

  #array(depth: number): JsonValue[] {
    this.#checkDepth(depth);
    const array: JsonValue[] = [];
    this.#at += 1;
    if (this.#takes(closeBracket)) return array;
    for (;;) {
      array.push(this.#value(depth + 1));
      if (this.#takes(closeBracket)) return array;
      this.#expect(comma, '"," or "]"');
    }
  }

  #checkDepth(depth: number): void {
    if (depth > maxDepth) throw this.#error(`is nested deeper than ${maxDepth} levels`);
  }

  /** A member's name and the colon behind it. */
  #key(): string {
    this.#skipSpace();
    if (this.text.charCodeAt(this.#at) !== quote) throw this.#syntaxError('expected a name in double quotes');
    const key = this.#string();
    this.#expect(colon, '":"');
    return key;
  }

  #string(): string {
    const start = this.#at + 1;
    let at = start;
    for (;;) {
      const code = this.text.charCodeAt(at);
      if (code === quote) {
        this.#at = at + 1;
        return this.text.slice(start, at);
      }
      if (code === backslash) return this.#escapedString();
      // The comparison is false for NaN, the end of the text, as well.
      if (!(code >= space)) throw this.#syntaxError('a string is not closed, or contains a line break or control character');
      at += 1;
    }
  }

  /** A string with escapes: only its end is found here, JSON.parse reads the escapes. */
  #escapedString(): string {
    const start = this.#at;
    this.#skipString();
    try {
      return JSON.parse(this.text.slice(start, this.#at)) as string;
    } catch {
      throw this.#syntaxError('a string contains an unknown escape, a line break or a control character', start);
    }
  }

  #number(): number | JsonNumber {
    const start = this.#at;
    let at = start;
    const negative = this.text.charCodeAt(at) === minus;
    if (negative) at += 1;
    const firstDigit = this.text.charCodeAt(at);
    const digitsStart = at;
    let value = 0;
    let code = firstDigit;
    while (code >= zero && code <= nine && at - digitsStart < maxPlainDigits) {
      value = value * 10 + (code - zero);
      at += 1;
      code = this.text.charCodeAt(at);
    }
    const digits = at - digitsStart;
    const endsHere = !(code >= zero && code <= nine) && code !== dot && code !== lowerE && code !== upperE;
    if (digits > 0 && endsHere && (firstDigit !== zero || (digits === 1 && !negative))) {
      this.#at = at;
      return negative ? -value : value;
    }
    numberToken.lastIndex = start;
    const token = numberToken.exec(this.text)?.[0];
    if (token === undefined) throw this.#syntaxError('expected a value');
    this.#at = start + token.length;
    return new JsonNumber(token);
  }

  #word<T extends boolean | null>(word: string, value: T): T {
    if (!this.text.startsWith(word, this.#at)) throw this.#syntaxError('expected a value');
    this.#at += word.length;
    return value;
  }

  #skipSpace(): void {
    while (isSpace(this.text.charCodeAt(this.#at))) this.#at += 1;
  }

  #skipString(): void {
    const end = endOfString(this.text, this.#at);
    if (end === this.text.length) throw this.#syntaxError('a string is not closed', this.#at);
    this.#at = end + 1;
  }

  /** Goes past a value without reading it. */
  #skipValue(): void {
    let depth = 0;
    do {
      const code = this.text.charCodeAt(this.#at);
      if (Number.isNaN(code)) throw this.#syntaxError('expected a value');
      if (code === quote) {
        this.#skipString();
        continue;
      }
      this.#at += 1;
      if (code === openBrace || code === openBracket) depth += 1;
      else if (code === closeBrace || code === closeBracket) depth -= 1;
    } while (depth > 0 || !this.#isBehindValue());
  }

  #isBehindValue(): boolean {
    const code = this.text.charCodeAt(this.#at);
    return code === comma || code === closeBrace || isSpace(code);
  }

  /** Skips white space and, if the character comes next, goes past it. */
  #takes(code: number): boolean {
    this.#skipSpace();
    if (this.text.charCodeAt(this.#at) !== code) return false;
    this.#at += 1;
    return true;
  }

  #expect(code: number, shown: string): void {
    if (!this.#takes(code)) throw this.#syntaxError(`expected ${shown}`);
  }

  #syntaxError(what: string, at = this.#at): JsonError {
    return this.#error(`is not valid JSON: ${what}`, at);
  }

  #error(message: string, at = this.#at): JsonError {
    const lineStart = this.text.lastIndexOf('\n', at - 1) + 1;
    const line = this.text.slice(0, lineStart).split('\n').length;
    return new JsonError(`${message} at line ${line}, column ${at - lineStart + 1}`);
  }
}

function isSpace(code: number): boolean {
  return code === space || code === lineFeed || code === carriageReturn || code === tab;
}
