/** A JSON value whose integers are exact: a bigint where a number could not hold it. */
export type JsonValue = null | boolean | number | bigint | string | readonly JsonValue[] | { readonly [name: string]: JsonValue };

/** The text is not JSON. `message` says what was expected and where, and never quotes the text, which may hold secrets. */
export class JsonError extends Error {
  override readonly name = 'JsonError';
}

const stringPattern = /"(?:[^"\\]|\\.)*"/y;
const numberPattern = /(-?(?:0|[1-9]\d*))(?:\.(\d+))?(?:[eE]([+-]?\d+))?/y;
const wordPattern = /true|false|null/y;
const spacePattern = /[ \t\r\n]*/y;
const depthLimit = 64;

/**
 * Reads JSON more exactly than JSON.parse: large integers keep every digit, and a key that is there twice is an error.
 *
 * Throws JsonError naming line and column.
 */
export function jsonFromText(text: string): JsonValue {
  let at = text.startsWith('\ufeff') ? 1 : 0;

  function fail(what: string, where = at): never {
    const before = text.slice(0, where).split('\n');
    throw new JsonError(`${what} at line ${before.length}, column ${(before.at(-1) ?? '').length + 1}`);
  }

  function match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found !== null) at = pattern.lastIndex;
    return found;
  }

  function skip(character: string): boolean {
    match(spacePattern);
    if (text[at] !== character) return false;
    at += 1;
    return true;
  }

  function expect(character: string, or: string): void {
    if (!skip(character)) fail(`expected ${or}"${character}"`);
  }

  function string(): string | undefined {
    match(spacePattern);
    const start = at;
    const found = match(stringPattern);
    if (found === null) return undefined;
    try {
      return JSON.parse(found[0]);
    } catch {
      return fail('a line break, control character or unknown escape in the text', start);
    }
  }

  function object(depth: number): JsonValue {
    const entries = new Map<string, JsonValue>();
    if (skip('}')) return {};
    do {
      match(spacePattern);
      const start = at;
      const name = string();
      if (name === undefined) fail('expected a name in double quotes');
      if (entries.has(name)) fail(`the name ${JSON.stringify(name)} is there twice in one object, again`, start);
      expect(':', '');
      entries.set(name, value(depth + 1));
    } while (skip(','));
    expect('}', '"," or ');
    return Object.fromEntries(entries);
  }

  function list(depth: number): JsonValue {
    const items: JsonValue[] = [];
    if (skip(']')) return items;
    do items.push(value(depth + 1));
    while (skip(','));
    expect(']', '"," or ');
    return items;
  }

  function value(depth: number): JsonValue {
    if (depth > depthLimit) fail(`more than ${depthLimit} levels`);
    if (skip('{')) return object(depth);
    if (skip('[')) return list(depth);
    const found = string();
    if (found !== undefined) return found;
    const word = match(wordPattern);
    if (word !== null) return JSON.parse(word[0]);
    const number = match(numberPattern);
    if (number !== null) return exactNumber(number[0], number[1] ?? '', number[2] ?? '', Number(number[3] ?? 0));
    return fail('expected a value');
  }

  const whole = value(0);
  match(spacePattern);
  if (at < text.length) fail('expected the end of the text');
  return whole;
}

/** Integers exactly, however they are written (`1e21` too); what is no integer as JavaScript reads it. */
function exactNumber(token: string, whole: string, fraction: string, exponent: number): number | bigint {
  const number = Number(token);
  if (Number.isSafeInteger(number) && fraction === '' && exponent === 0) return number;
  const zeros = exponent - fraction.length;
  // Bounded before anything is computed: no setting needs more digits.
  if (Math.abs(zeros) > 100) return number;
  const digits = BigInt(whole + fraction);
  const divisor = 10n ** BigInt(Math.max(0, -zeros));
  if (digits % divisor !== 0n) return number;
  const exact = (digits / divisor) * 10n ** BigInt(Math.max(0, zeros));
  return Number.isSafeInteger(Number(exact)) ? Number(exact) : exact;
}
