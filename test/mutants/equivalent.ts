/** A mutant that has no visible effect, and why. */
export interface Equivalent {
  /** The built module, below `dist/src`. */
  readonly module: string;
  readonly kind: string;
  /** The built line, without the spaces around it. */
  readonly line: string;
  /** What the mutant puts into the line. */
  readonly replacement: string;
  readonly reason: string;
}

/** Mutants that were judged and are left out. */
export const equivalents: readonly Equivalent[] = [];
