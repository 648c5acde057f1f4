/** Splits a text into its words: ids or addresses, separated by spaces, commas or lines. */
export function wordsOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '');
}
