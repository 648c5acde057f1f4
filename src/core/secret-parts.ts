import { percentDecoded } from './percent-decoded.js';

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
