import { type DomainError, type FieldProblem, invalidFields, maxProblems, type Warning } from '../core/errors/errors.js';
import type { NetworkType } from '../core/records/network.js';
import { shownName } from '../core/text/safe-text.js';
import type { JsonValue } from '../json/json-value.js';
import { likelyName } from '../json/likely-name.js';

/** Reads one kind of value from REST JSON and writes it. */
export interface ValueCodec {
  /** Returns the value as a message holds it; undefined, with the problem noted, if it does not fit. */
  read(value: JsonValue, path: string, reading: Reading): unknown;
  /** Returns the value as JSON text. */
  write(value: unknown): string;
  /** True if `null` is a value, not absence. */
  readonly readsNull?: true;
}

/** A message as its properties. Codecs are compiled from descriptors, so they know names and kinds, not types. */
export type Properties = Record<string, unknown>;

/** Collects what is wrong with one body, query or configuration entry while it is read. */
export class Reading {
  /** In the order of the text. */
  readonly problems: FieldProblem[] = [];
  readonly #unknown = new Set<FieldProblem>();

  /**
   * `networkType`: the relayer's; undefined if the request names no relayer, an unknown one, or one that the key may not use.
   * `foreign` says what happens to a field that only another network's shape defines.
   */
  constructor(
    readonly networkType: NetworkType | undefined,
    readonly warnings: Warning[],
    readonly foreign: 'ignored' | 'refused' = 'ignored',
  ) {}

  /** True if there are as many problems as an error can carry, so that reading on would only cost time. */
  get isHopeless(): boolean {
    return this.problems.length >= maxProblems;
  }

  /** The error with all problems, unknown fields first, because they explain others; null if there are none. */
  get problem(): DomainError | null {
    if (this.problems.length === 0) return null;
    const others = this.problems.filter((problem) => !this.#unknown.has(problem));
    return invalidFields([...this.#unknown, ...others], this.#unknown.size === 0 ? 'FIELD_INVALID' : 'FIELD_UNKNOWN');
  }

  /** Notes that the value at `path` does not fit. `description` completes a sentence that begins with the path. */
  refuse(path: string, description: string): undefined {
    if (!this.isHopeless) this.problems.push({ field: path, description });
    return undefined;
  }

  /** Notes a field that is not among `known`. */
  refuseUnknown(prefix: string, key: string, known: Iterable<string>, kind = 'field'): void {
    if (this.isHopeless) return;
    const field = prefix + shownName(key);
    const likely = likelyName(key, known);
    const description = likely === undefined ? `is not a known ${kind}` : `is not a known ${kind}; did you mean \`${likely}\`?`;
    const problem = { field, description };
    this.problems.push(problem);
    this.#unknown.add(problem);
  }

  /** Adds a warning for the caller. */
  warn(message: string): void {
    this.warnings.push({ level: 'warn', message });
  }
}
