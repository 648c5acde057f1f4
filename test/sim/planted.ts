import { plantNamed } from './plants.js';
import { moduleUrl } from './seam.js';

type Function = (...args: readonly unknown[]) => unknown;

const made = new Map<string, Function>();

/** Returns what replaces this function of a module in the fault that PLANT names, made once. `itself`: the module as it is. */
export function replacement(url: string, name: string, itself: Readonly<Record<string, Function>>): Function {
  const key = `${url} ${name}`;
  const known = made.get(key);
  if (known !== undefined) return known;
  const seam = plantNamed(process.env.PLANT).seams.find(({ module }) => moduleUrl(module) === url);
  const original = itself[name];
  const replace = seam?.functions[name];
  if (original === undefined || replace === undefined) throw new Error(`nothing replaces ${name} of ${url}`);
  const replacing = replace(original);
  made.set(key, replacing);
  return replacing;
}
