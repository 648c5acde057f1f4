/** True where objects and arrays are nested deeper than this: JSON.parse reads any depth, but JSON.stringify and whoever else walks down runs out of stack. */
export function isNestedOver(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((part) => isNestedOver(part, levels - 1));
}
