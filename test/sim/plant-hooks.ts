import type { LoadHook } from 'node:module';
import type { Plant } from './plants.js';

let planted: Plant | null = null;

/** Called with the fault when these hooks are registered. */
export function initialize(plant: Plant): void {
  planted = plant;
}

/** Changes the module of the fault while it is loaded. */
export const load: LoadHook = async (url, context, nextLoad) => {
  const loaded = await nextLoad(url, context);
  const part = [planted, planted?.second].find((one) => one != null && url.endsWith(`/src/${one.module}.js`));
  if (part == null) return loaded;
  return { ...loaded, source: plantedIn(String(loaded.source), part) };
};

/** Returns the text of a built module with a fault. Throws if the module does not contain what the fault replaces. */
export function plantedIn(text: string, { module, changes }: Pick<Plant, 'module' | 'changes'>): string {
  return changes.reduce((changed, [from, to]) => {
    if (changed.split(from).length !== 2) throw new Error(`${module} does not contain exactly once: ${from}`);
    return changed.replace(from, () => to);
  }, text);
}
