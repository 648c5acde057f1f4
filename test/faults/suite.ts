import type { Random } from '../support/seeded-random.js';

/** Figures of a run, for its one line. */
export type Figures = Readonly<Record<string, number | string>>;

/** The tools of a suite. */
export interface FaultRun {
  /** True for the form that is short enough to run with every change. */
  readonly isShort: boolean;
  /** How many times a suite repeats its faults: `--rounds`, or once in the short form, or as often as the full form says. */
  rounds(full: number): number;
  readonly random: Random;
  /** Reports a violation: the suite continues, and has failed. `details` is shown as JSON. */
  violation(sentence: string, details?: unknown): void;
  /** Prints a figure of a long run as soon as it is known. */
  say(line: string): void;
  /** Registers what to close when the suite ends in any way; the last first. */
  atEnd(release: () => Promise<unknown>): void;
  /** The log of a service, kept if the suite fails. */
  keepLog(output: () => string): void;
}

/** Causes faults around a running service, reports violations, and resolves to its figures. An error that it throws is a violation too. */
export type FaultSuite = (run: FaultRun) => Promise<Figures>;
