import type { LoadHook } from 'node:module';
import { plantNamed } from './plants.js';
import { moduleUrl } from './seam.js';

/** By the URL of a module, the names of its functions that are replaced. */
const replaced = new Map<string, readonly string[]>();

/** What the loader adds to the URL of a module whose functions are replaced, to load the module itself. */
const asItIs = '?as-it-is';

/** Called with the name of the fault when these hooks are registered. */
export function initialize(name: string | undefined): void {
  for (const { module, functions } of plantNamed(name).seams) replaced.set(moduleUrl(module), Object.keys(functions));
}

/** Loads a module whose functions are replaced as one that exports everything of it but these functions. */
export const load: LoadHook = async (url, context, nextLoad) => {
  const names = replaced.get(url);
  if (names === undefined) return nextLoad(url, context);
  const itself = JSON.stringify(url + asItIs);
  const lines = [
    `import * as itself from ${itself};`,
    `import { replacement } from ${JSON.stringify(new URL('./planted.js', import.meta.url).href)};`,
    `export * from ${itself};`,
    ...names.map((name) => `export function ${name}(...args) { return replacement(${JSON.stringify(url)}, '${name}', itself)(...args); }`),
  ];
  return { format: 'module', shortCircuit: true, source: lines.join('\n') };
};
