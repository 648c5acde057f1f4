const maxShownCharacters = 64;
/** Nearly all names. */
const plainName = /^[\w.:-]*$/;
const maxBytes = 1024;
/** Shorter parts of a URL are too common as words to be masked. */
const minSecretLength = 6;

/** Returns the start of a caller's id or name, fit for an error: 64 whole characters, with U+FFFD for half of a surrogate pair. */
export function shownName(name: string): string {
  if (name.length <= maxShownCharacters && plainName.test(name)) return name;
  const start = Array.from(name.slice(0, 2 * maxShownCharacters)).slice(0, maxShownCharacters);
  return start.join('').replace(/\p{Surrogate}/gu, '\uFFFD');
}

/**
 * Makes the text of a node or a receiver safe to log and store: keeps at most 1 KiB of UTF-8, and escapes as `\u{..}` what could mislead a
 * terminal or a reader (control and format characters, line separators, lone surrogates).
 */
export function outsideText(text: string): string {
  const bytes = Buffer.from(text.slice(0, maxBytes), 'utf8');
  const whole = bytes.length <= maxBytes ? bytes.toString('utf8') : new TextDecoder().decode(bytes.subarray(0, maxBytes), { stream: true });
  return whole.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (found) => `\\u{${(found.codePointAt(0) ?? 0).toString(16)}}`);
}

/**
 * Lists the parts of a URL that may be secret and that its server may quote: path segments, query values, user and password, both as
 * written and decoded. The host is not one.
 */
export function secretPartsOf(url: URL): readonly string[] {
  const values = url.search.split('&').map((pair) => pair.slice(pair.indexOf('=') + 1));
  const raw = [...url.pathname.split('/'), ...values, url.username, url.password];
  const parts = [...raw, ...url.searchParams.values(), ...raw.map(percentDecoded)].filter((part) => part.length >= minSecretLength);
  return [...new Set(parts)];
}

/** Returns the parts of a header's value that may be secret: the whole, and a key after its scheme, as in `Bearer key`. */
export function secretPartsOfHeader(value: string): readonly string[] {
  return [value, ...value.split(' ')].filter((part) => part.length >= minSecretLength);
}

/** Undoes percent-encoding. Badly encoded text is returned as it is, since users write URLs by hand. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
