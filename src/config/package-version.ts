import { existsSync, readFileSync } from 'node:fs';

/** Returns the version of the program. */
export function packageVersion(): string {
  const { version }: { version: string } = JSON.parse(readFileSync(packageFile('package.json'), 'utf8'));
  return version;
}

/**
 * Returns a file of the package by its path: in the folder of the nearest package.json above this file, which is one folder deeper once
 * built.
 */
export function packageFile(path: string): URL {
  let file = new URL('../package.json', import.meta.url);
  while (!existsSync(file)) {
    const above = new URL('../package.json', file);
    if (above.href === file.href) throw new Error('no package.json was found above the program');
    file = above;
  }
  return new URL(path, file);
}
