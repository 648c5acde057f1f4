/** Encodes JSON with bigints as exact numbers: lamports and rent epochs exceed a double. */
export function exactJson(value: unknown): string {
  const mark = '\u0000integer ';
  return JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? `${mark}${part}` : part)).replaceAll(
    /"\\u0000integer (-?\d+)"/g,
    '$1',
  );
}
