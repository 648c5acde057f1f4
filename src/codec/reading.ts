import { DomainError, invalidField, type Warning } from '../core/errors.js';
import type { NetworkType } from '../core/relayer/network.js';
import { shownName } from '../core/safe-text.js';
import { likelyName } from '../json/likely-name.js';

/** What is found while one body or query is read: the first problem of each kind. */
export class Reading {
  /** A value that does not fit: told late, after the relayer's checks. */
  problem: DomainError | null = null;
  /** A field that no shape of the body defines: told early. */
  unknown: DomainError | null = null;
  readonly #warnings: Warning[];

  /** `networkType` is the relayer's; undefined where the request names none, one that is unknown, or one that the key may not use. */
  constructor(
    readonly networkType: NetworkType | undefined,
    warnings: Warning[],
  ) {
    this.#warnings = warnings;
  }

  /** Notes that the value at `path` does not fit. `description` completes a sentence that begins with the path. */
  refuse(path: string, description: string): undefined {
    this.problem ??= invalidField(path, description);
    return undefined;
  }

  /** Notes a field that is not among `known`. */
  refuseUnknown(prefix: string, key: string, known: Iterable<string>, kind = 'field'): void {
    const field = prefix + shownName(key);
    const likely = likelyName(key, known);
    const description = likely === undefined ? `is not a known ${kind}` : `is not a known ${kind}; did you mean \`${likely}\`?`;
    this.unknown ??= new DomainError('invalid', 'FIELD_UNKNOWN', `${field} ${description}`, { fields: [{ field, description }] });
  }

  /** Tells the caller something that is no error. */
  warn(message: string): void {
    this.#warnings.push({ level: 'warn', message });
  }
}
