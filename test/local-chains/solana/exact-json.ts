/** JSON text in which a bigint is a number of as many digits as it has: lamports and rent epochs pass what a double holds. */
export function exactJson(value: unknown): string {
  const mark = '\u0000integer ';
  return JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? `${mark}${part}` : part)).replaceAll(
    /"\\u0000integer (-?\d+)"/g,
    '$1',
  );
}
