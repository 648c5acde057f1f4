/** The text with its percent-encoding undone; one that is not well encoded stands for itself, since users write URLs by hand. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
