import type { Warning } from '../core/errors.js';
import { DomainError, type FieldProblem, invalidField } from '../core/errors.js';
import type { NetworkType } from '../core/relayer/network.js';
import { shownName } from '../core/safe-text.js';
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

/** Bounds the memory that a hostile body can take. */
const maxProblems = 1_000;

/** Collects what is wrong with one body, query or configuration entry while it is read. */
export class Reading {
  /** The first value that does not fit: reported late, after the checks of the relayer. */
  problem: DomainError | null = null;
  /** The first field that no shape of the body defines: reported early. */
  unknown: DomainError | null = null;
  /** All problems of both kinds, in the order of the text. */
  readonly problems: FieldProblem[] = [];

  /**
   * `networkType` is that of the relayer; undefined if the request names none, an unknown one, or one that the key may not use.
   * `foreign` says what happens to a field that only another network's shape defines.
   */
  constructor(
    readonly networkType: NetworkType | undefined,
    readonly warnings: Warning[],
    readonly foreign: 'ignored' | 'refused' = 'ignored',
  ) {}

  /** Notes that the value at `path` does not fit. `description` completes a sentence that begins with the path. */
  refuse(path: string, description: string): undefined {
    this.problem ??= invalidField(path, description);
    this.#add({ field: path, description });
    return undefined;
  }

  /** Notes a field that is not among `known`. */
  refuseUnknown(prefix: string, key: string, known: Iterable<string>, kind = 'field'): void {
    if (this.problems.length >= maxProblems && this.unknown !== null) return;
    const field = prefix + shownName(key);
    const likely = likelyName(key, known);
    const description = likely === undefined ? `is not a known ${kind}` : `is not a known ${kind}; did you mean \`${likely}\`?`;
    this.unknown ??= new DomainError('invalid', 'FIELD_UNKNOWN', `${field} ${description}`, { fields: [{ field, description }] });
    this.#add({ field, description });
  }

  /** Adds a warning for the caller. */
  warn(message: string): void {
    this.warnings.push({ level: 'warn', message });
  }

  #add(problem: FieldProblem): void {
    if (this.problems.length < maxProblems) this.problems.push(problem);
  }
}
