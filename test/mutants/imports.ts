import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const importedBy = new Map<string, readonly string[]>();

/** A module that no import leads to, though a program that the test starts may have it. */
export const unreachable = 1000;

/** How many imports lead from a built module to another one. */
export function importsBetween(from: string, to: string): number {
  let row: readonly string[] = [from];
  const seen = new Set(row);
  for (let distance = 0; row.length > 0; distance++) {
    if (row.includes(to)) return distance;
    row = [...new Set(row.flatMap(importsOf))].filter((module) => !seen.has(module));
    for (const module of row) seen.add(module);
  }
  return unreachable;
}

function importsOf(module: string): readonly string[] {
  const known = importedBy.get(module);
  if (known !== undefined) return known;
  const text = readFileSync(module, 'utf8');
  const found = [...text.matchAll(/(?:from|import|import\() ?'(\.[^']+)'/g)].map(([, path]) => join(dirname(module), path as string));
  const modules = found.filter((path) => path.endsWith('.js') && existsSync(path));
  importedBy.set(module, modules);
  return modules;
}
