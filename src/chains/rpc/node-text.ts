const greatestBytes = 1024;

/** Text of a node, made fit for a sentence, a record and a log: control and format characters escaped, cut to 1 KiB. */
export function nodeText(text: string): string {
  // Cut twice: hostile text is not escaped in full only to be thrown away, and escaping makes text longer.
  const escaped = text.slice(0, greatestBytes).replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, escapeOf);
  const bytes = Buffer.from(escaped);
  if (bytes.length <= greatestBytes) return escaped;
  // A cut character shows as U+FFFD, which is dropped.
  return bytes
    .subarray(0, greatestBytes)
    .toString()
    .replace(/\uFFFD$/u, '');
}

function escapeOf(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
