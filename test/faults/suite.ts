import type { Random } from '../support/seeded-random.js';

/** Figures of a run, for its one line. */
export type Figures = Readonly<Record<string, number | string>>;

/** What a suite works with. */
export interface FaultRun {
  /** True for the form that is short enough to run with every change. */
  readonly isShort: boolean;
  readonly random: Random;
  /** Something that must never be was seen; the suite goes on, and has failed. `details` is shown as JSON. */
  violation(sentence: string, details?: unknown): void;
  /** What is to be ended with the suite, however it ends; the last first. */
  atEnd(release: () => Promise<unknown>): void;
  /** The log of a service, kept where the suite fails. */
  keepLog(output: () => string): void;
}

/** Does things to a running service, tells what must not be, and resolves to its figures. What it throws is a violation too. */
export type FaultSuite = (run: FaultRun) => Promise<Figures>;
