import { existsSync, readFileSync } from 'node:fs';

/** The version in the nearest package.json above this file: it is one folder deeper once built. */
export function packageVersion(): string {
  let file = new URL('../package.json', import.meta.url);
  while (!existsSync(file)) {
    const above = new URL('../package.json', file);
    if (above.href === file.href) throw new Error('no package.json was found above the program');
    file = above;
  }
  const { version }: { version: string } = JSON.parse(readFileSync(file, 'utf8'));
  return version;
}
