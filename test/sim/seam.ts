type Function = (...args: never) => unknown;

/** Exported functions of one module of the service, and what replaces them. */
export interface Seam {
  /** Imports the module. Not called: it names the module so that the compiler knows it. */
  readonly module: () => Promise<object>;
  /** By the function's name. */
  readonly functions: Readonly<
    Record<string, (original: (...args: readonly unknown[]) => unknown) => (...args: readonly unknown[]) => unknown>
  >;
}

/** The exported functions of a module. */
type Functions<M> = { [K in keyof M as M[K] extends Function ? K : never]: M[K] };

/**
 * Replaces exported functions of a module, for everything that imports them. The module itself calls its own functions as they are. A function or a module
 * that has moved no longer compiles.
 */
export function seam<M extends object>(
  module: () => Promise<M>,
  functions: { readonly [K in keyof Functions<M>]?: (original: M[K]) => M[K] },
): Seam {
  return { module, functions: functions as unknown as Seam['functions'] };
}

/** Returns the URL of the module that a function imports. */
export function moduleUrl(module: Seam['module']): string {
  const specifier = /import\(['"](.+?)['"]\)/.exec(module.toString())?.[1];
  if (specifier === undefined) throw new Error(`imports no module: ${module.toString()}`);
  return new URL(specifier, import.meta.url).href;
}
