/** One thing that is wrong with the configuration. */
export interface Problem {
  /** Where: a setting's name (`API_KEY`), or a path in the configuration file (`relayers[2].policies.gas_price_cap`). */
  readonly path: string;
  /** What, to be read after the path and a colon. Never has a secret's value. */
  readonly problem: string;
}

/** Thrown when the configuration cannot be used: has every problem found, not only the first. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(problems.map(({ path, problem }) => `${path}: ${problem}`).join('\n'));
    this.problems = problems;
  }
}
