/** Control characters, as a range of a character class. */
export const controls = String.raw`\x00-\x1f\x7f-\x9f`;

/** A host that begins at once, and no white space. */
const afterScheme = String.raw`[Ss]?://[^\s${controls}/?#\\][^\s${controls}]*$`;

/** A whole URL. Written so that the engines of other languages read it the same way. */
export const httpUrlPattern = new RegExp(`^[Hh][Tt][Tt][Pp]${afterScheme}`, 'u');

/** The same of a node, which may also be reached through a WebSocket. */
export const nodeUrlPattern = new RegExp(`^(?:[Hh][Tt][Tt][Pp]|[Ww][Ss])${afterScheme}`, 'u');

/**
 * Parses an absolute http or https URL that comes from a user; null if the text is none. `URL` alone repairs mistakes: it takes the host
 * `a` from `https:///a`, `https:a` and `https:\\a`, and drops line breaks. The URL that is shown would differ from the one used.
 */
export function httpUrlFrom(text: string): URL | null {
  return httpUrlPattern.test(text) && URL.canParse(text) ? new URL(text) : null;
}

/** True for a URL of a WebSocket. */
export function isSocketUrl(text: string): boolean {
  return /^ws/i.test(text);
}
