import { isUtf8 } from 'node:buffer';
import { DomainError } from '../core/errors.js';
import { shownName } from '../core/safe-text.js';
import { JsonNumber, type JsonObject, type JsonValue } from './json-value.js';

/** Nesting that is read; the body itself is the first level. */
const maxDepth = 64;

/** As many digits as a double surely holds exactly. */
const maxPlainDigits = 15;

const numberToken = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;

/**
 * The object that a request body holds; no bytes are `{}`. Strict where JSON.parse is not: invalid UTF-8, a key twice in one object, nesting
 * over 64 and a body that is not an object are refused too (`invalid` BODY_MALFORMED). Time and memory are linear in the size of the body,
 * whatever numbers it has.
 */
export function scanBody(bytes: Buffer): JsonObject {
  if (bytes.length === 0) return new Map();
  if (!isUtf8(bytes)) throw malformed('is not valid UTF-8');
  const body = scanJson(bytes.toString('utf8'));
  if (!(body instanceof Map)) throw malformed('must be a JSON object');
  return body;
}

/** The value of a JSON text. Accepts what JSON.parse does, save keys that come twice and nesting over 64 (`invalid` BODY_MALFORMED). */
export function scanJson(text: string): JsonValue {
  const scanner = new Scanner(text);
  const value = scanner.value(1);
  scanner.end();
  return value;
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

  value(depth: number): JsonValue {
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

  end(): void {
    this.#skipSpace();
    if (this.#at !== this.text.length) throw notJson();
  }

  #skipSpace(): void {
    for (;;) {
      const code = this.text.charCodeAt(this.#at);
      if (code !== space && code !== lineFeed && code !== carriageReturn && code !== tab) return;
      this.#at += 1;
    }
  }

  #object(depth: number): JsonObject {
    if (depth > maxDepth) throw malformed(`is nested deeper than ${maxDepth} levels`);
    const object: JsonObject = new Map();
    this.#at += 1;
    if (this.#takes(closeBrace)) return object;
    for (;;) {
      this.#skipSpace();
      if (this.text.charCodeAt(this.#at) !== quote) throw notJson();
      const key = this.#string();
      if (object.has(key)) throw malformed(`has the key ${JSON.stringify(shownName(key))} twice in one object`);
      if (!this.#takes(colon)) throw notJson();
      object.set(key, this.value(depth + 1));
      if (this.#takes(closeBrace)) return object;
      if (!this.#takes(comma)) throw notJson();
    }
  }

  #array(depth: number): JsonValue[] {
    if (depth > maxDepth) throw malformed(`is nested deeper than ${maxDepth} levels`);
    const array: JsonValue[] = [];
    this.#at += 1;
    if (this.#takes(closeBracket)) return array;
    for (;;) {
      array.push(this.value(depth + 1));
      if (this.#takes(closeBracket)) return array;
      if (!this.#takes(comma)) throw notJson();
    }
  }

  /** Past white space: true, and past the character, where it comes next. */
  #takes(code: number): boolean {
    this.#skipSpace();
    if (this.text.charCodeAt(this.#at) !== code) return false;
    this.#at += 1;
    return true;
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
      if (code === backslash) return this.#escapedString(start, at);
      // The comparison is false for NaN, the end of the text, as well.
      if (!(code >= space)) throw notJson();
      at += 1;
    }
  }

  /** A string with escapes: its end is found here, its escapes are JSON.parse's business. */
  #escapedString(start: number, firstEscape: number): string {
    let at = firstEscape;
    for (let code = backslash; code !== quote; code = this.text.charCodeAt(at)) {
      if (Number.isNaN(code)) throw notJson();
      at += code === backslash ? 2 : 1;
    }
    this.#at = at + 1;
    try {
      return JSON.parse(this.text.slice(start - 1, at + 1)) as string;
    } catch {
      throw notJson();
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
    if (token === undefined) throw notJson();
    this.#at = start + token.length;
    return new JsonNumber(token);
  }

  #word<T extends boolean | null>(word: string, value: T): T {
    if (!this.text.startsWith(word, this.#at)) throw notJson();
    this.#at += word.length;
    return value;
  }
}

function notJson(): DomainError {
  return malformed('is not valid JSON');
}

function malformed(what: string): DomainError {
  return new DomainError('invalid', 'BODY_MALFORMED', `the body ${what}`);
}
