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
