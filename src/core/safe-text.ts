/** More than any of ours has. */
const maxCharacters = 64;

/** An id or a name that the caller made up, as it is said back: its first 64 characters, whole ones; half of a surrogate pair is shown as U+FFFD. */
export function shownName(name: string): string {
  const start = Array.from(name.slice(0, 2 * maxCharacters)).slice(0, maxCharacters);
  return start.join('').replace(/\p{Surrogate}/gu, '\uFFFD');
}

const maxBytes = 1024;

/**
 * Text of a node or a receiver, made fit to be logged or stored: at most 1 KiB of UTF-8 is kept, then what a terminal or a reader could be misled by
 * (control and format characters, line separators, lone surrogates) is escaped as `\u{..}`.
 */
export function outsideText(text: string): string {
  const bytes = Buffer.from(text.slice(0, maxBytes), 'utf8');
  const whole = bytes.length <= maxBytes ? bytes.toString('utf8') : new TextDecoder().decode(bytes.subarray(0, maxBytes), { stream: true });
  return whole.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (found) => `\\u{${(found.codePointAt(0) ?? 0).toString(16)}}`);
}

/** A part shorter than this is too common a word to be looked for. */
const leastLength = 6;

/**
 * The parts of a URL that may be secrets, and that whoever is behind it may quote: segments of its path, values of its query, user and password, as
 * they stand there and decoded. Not its host.
 */
export function secretPartsOf(url: URL): readonly string[] {
  const values = url.search.split('&').map((pair) => pair.slice(pair.indexOf('=') + 1));
  const raw = [...url.pathname.split('/'), ...values, url.username, url.password];
  const parts = [...raw, ...url.searchParams.values(), ...raw.map(percentDecoded)].filter((part) => part.length >= leastLength);
  // The longest first: what is left of it must not be what is looked for next.
  return [...new Set(parts)].sort((a, b) => b.length - a.length);
}

/** The text with `***` in place of each of these parts. */
export function withoutParts(text: string, parts: readonly string[]): string {
  return parts.reduce((rest, part) => rest.replaceAll(part, '***'), text);
}

/** The text with its percent-encoding undone; one that is not well encoded stands for itself, since users write URLs by hand. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
