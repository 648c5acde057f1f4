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
  let text = String(loaded.source);
  for (const [from, to] of part.changes) {
    if (text.split(from).length !== 2) throw new Error(`${part.module} does not contain exactly once: ${from}`);
    text = text.replace(from, () => to);
  }
  return { ...loaded, source: text };
};
