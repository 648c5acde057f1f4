/** A command cannot go on: its message is the one sentence that the user reads. */
export class CliError extends Error {
  override readonly name = 'CliError';
  /** 1: it failed. 2: it was asked wrongly, or the configuration is wrong. */
  readonly exitCode: 1 | 2;

  constructor(sentence: string, exitCode: 1 | 2 = 1) {
    super(sentence);
    this.exitCode = exitCode;
  }
}
