import { DomainError, type FieldProblem } from '../core/errors/errors.js';

/** One thing that is wrong with the configuration. */
export interface Problem {
  /** A setting's name (`API_KEY`), or a path in the configuration file (`relayers[2].policies.gas_price_cap`). */
  readonly path: string;
  /** What is wrong, as a text that follows the path and a colon. Never contains a secret. */
  readonly problem: string;
}

/** The configuration cannot be used. Has every problem found, not only the first. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly Problem[];
  /** Sentences about settings that have no effect. */
  readonly notices: readonly string[];

  constructor(problems: readonly Problem[], notices: readonly string[] = []) {
    super(problems.map(({ path, problem }) => `${path}: ${problem}`).join('\n'));
    this.problems = problems;
    this.notices = notices;
  }
}

/** Collects the problems of a configuration file, and notices to its author. */
export class Problems {
  readonly list: Problem[] = [];
  /** Sentences about values that have no effect, or that should be changed. */
  readonly notices: string[] = [];
  /** The paths of all problems, and of everything around them. */
  readonly #paths = new Set<string>();

  add(path: string, problem: string): void {
    this.list.push({ path, problem });
    for (let at = path; at !== ''; at = at.replace(/(?:^|\.|\[)[^.[]*$/, '')) this.#paths.add(at);
  }

  /** Adds problems of fields below `path`. */
  addFields(path: string, fields: readonly FieldProblem[]): void {
    for (const { field, description } of fields) this.add(`${path}.${field}`, description);
  }

  /** True if something at this path, or below it, is wrong. */
  has(path: string): boolean {
    return this.#paths.has(path);
  }

  /**
   * Applies a rule of the domain to the entry at `path`, and returns its result; undefined if it throws. Adds what it finds wrong, except
   * for fields that already have a problem.
   */
  check<T>(path: string, rule: () => T): T | undefined {
    try {
      return rule();
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      const fields = error.fields.filter(({ field }) => !this.has(`${path}.${field}`));
      this.addFields(path, fields);
      if (error.fields.length === 0) this.add(path, error.message);
      return undefined;
    }
  }
}
