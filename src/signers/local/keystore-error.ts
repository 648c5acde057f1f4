/** Why a keystore cannot be opened. `too_costly`: its key derivation needs more memory or time than the service allows. */
export type KeystoreProblem = 'malformed' | 'wrong_passphrase' | 'too_costly';

/** A keystore that cannot be opened. The message is for the operator and holds no secret. */
export class KeystoreError extends Error {
  override readonly name = 'KeystoreError';
  readonly problem: KeystoreProblem;

  constructor(problem: KeystoreProblem, message: string) {
    super(message);
    this.problem = problem;
  }
}
