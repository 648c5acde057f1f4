/** The error of a command that cannot continue. Its message is one sentence for the user. */
export class CliError extends Error {
  override readonly name = 'CliError';
  /** 1: the command failed. 2: wrong usage or configuration. */
  readonly exitCode: 1 | 2;

  constructor(message: string, exitCode: 1 | 2 = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}
