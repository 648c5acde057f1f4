/** Why a keystore cannot be opened. `too_dear`: its key derivation would take absurd memory or time. `wrong_curve`: its key is for other networks. */
export type KeystoreProblem = 'malformed' | 'wrong_passphrase' | 'too_dear' | 'wrong_curve';

/** A keystore that cannot be opened; the message is for the operator and holds no secret. */
export class KeystoreError extends Error {
  override readonly name = 'KeystoreError';
  readonly problem: KeystoreProblem;

  constructor(problem: KeystoreProblem, message: string) {
    super(message);
    this.problem = problem;
  }
}
