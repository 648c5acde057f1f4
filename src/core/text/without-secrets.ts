/** A shorter text is part of too many words: masking it would hide the error, and show what it is. */
const minLength = 6;

/** What replaces a credential. */
const mask = '***';
/** The part of a text that is searched for the other forms of a credential: it is read character by character. */
const thoroughCharacters = 16_384;

/** One character as JSON, URLs and forms write it. */
const escaped = /%[0-9a-fA-F]{2}|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\["\\/bfnrt]|./gsu;
const plain = /./gsu;

const ascii = /^[\t\n\r\x20-\x7e]*$/;
const escapeStart = /[%\\]/;

/** A text as bytes, each a character, and where in the text each of them begins; null: where it stands. */
interface DecodedText {
  readonly bytes: string;
  readonly starts: readonly number[] | null;
}

/** Bytes from one position to before another. */
type Range = readonly [from: number, to: number];

/**
 * Replaces credentials in the text of a node, a receiver or a provider by `***`: as they are, and at the beginning of the text also as
 * JSON, URLs, forms and base64 write them. Escapes are optional for most characters, so the text is read without them instead of listing
 * the forms of a credential. Texts of fewer than 6 characters stay, so callers must keep credentials out of fields that they build
 * themselves.
 */
export function withoutSecrets(text: string, secrets: readonly (string | undefined)[]): string {
  const known = new Set(secrets.filter((secret) => secret !== undefined && secret.length >= minLength) as string[]);
  if (known.size === 0) return text;
  const found = [...known].flatMap((secret) => rangesOf(text, secret));
  const beginning = text.slice(0, thoroughCharacters);
  for (const characters of escapeStart.test(beginning) ? [plain, escaped] : [plain]) {
    const { bytes, starts } = readingOf(beginning, characters);
    const at = (position: number): number => (starts === null ? position : (starts[position] ?? beginning.length));
    const inStandardBase64 = bytes.replaceAll('-', '+').replaceAll('_', '/');
    for (const secret of known) {
      const ranges = [secret, secret.replaceAll(' ', '+')].flatMap((form) => rangesOf(bytes, latin1Of(form)));
      for (const [from, to] of [...ranges, ...base64RangesOf(inStandardBase64, secret)]) found.push([at(from), at(to)]);
    }
  }
  return masked(text, found);
}

function readingOf(text: string, characters: RegExp): DecodedText {
  // Nearly all texts, which a slow reading would make costly: each answer of a receiver comes through here.
  if (characters === plain && ascii.test(text)) return { bytes: text, starts: null };
  const starts: number[] = [];
  const parts: string[] = [];
  for (const { 0: character, index } of text.matchAll(characters)) {
    const bytes = bytesOf(character);
    parts.push(bytes);
    for (let byte = 0; byte < bytes.length; byte += 1) starts.push(index);
  }
  return { bytes: parts.join(''), starts };
}

function bytesOf(character: string): string {
  if (character.length === 1) return latin1Of(character);
  if (character.startsWith('%')) return String.fromCharCode(Number.parseInt(character.slice(1), 16));
  return latin1Of(character.startsWith('\\') ? JSON.parse(`"${character}"`) : character);
}

function latin1Of(text: string): string {
  return Buffer.from(text).toString('latin1');
}

function rangesOf(bytes: string, part: string): Range[] {
  const ranges: Range[] = [];
  for (let from = bytes.indexOf(part); from !== -1; from = bytes.indexOf(part, from + 1)) ranges.push([from, from + part.length]);
  return ranges;
}

/**
 * Base64 writes three bytes as four characters, so a credential has three forms: by the number of bytes before it, as in Basic
 * authentication.
 */
function base64RangesOf(bytes: string, secret: string): Range[] {
  return [0, 1, 2].flatMap((before) => {
    const all = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]);
    const bits = all.length * 8;
    // The characters at the ends may also hold bits of something else.
    const own = all.toString('base64').slice(Math.ceil((before * 8) / 6), Math.floor(bits / 6));
    return rangesOf(bytes, own).map(([from, to]): Range => [before === 0 ? from : Math.max(0, from - 1), bits % 6 === 0 ? to : to + 1]);
  });
}

function masked(text: string, found: readonly Range[]): string {
  let result = '';
  let end = 0;
  for (const [from, to] of found.toSorted(([a], [b]) => a - b)) {
    if (from >= end) result += text.slice(end, from) + mask;
    end = Math.max(end, to);
  }
  return result + text.slice(end);
}
