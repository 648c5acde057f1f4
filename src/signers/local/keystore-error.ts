import type { z } from 'zod';

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

/** Parses a keystore. Throws `KeystoreError` `malformed`, which never quotes the text. */
export function valueFromKeystoreJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    // The parser's own message would quote the file.
    throw new KeystoreError('malformed', 'the keystore is not JSON');
  }
}

/** The error for a keystore without the fields of its format, such as "a version 3 keystore". Names the fields, never their values. */
export function malformedKeystore(format: string, { issues }: z.ZodError): KeystoreError {
  const fields = [...new Set(issues.map(({ path }) => path.join('.') || 'the whole file'))].join(', ');
  return new KeystoreError('malformed', `the keystore is not ${format}; missing or malformed: ${fields}`);
}
