/** A trapped call: its changes are reverted, and the operation is INVOKE_HOST_FUNCTION_TRAPPED. */
export class HostError extends Error {
  /** `code` in the words of the host: `Contract, #1`, `Auth, InvalidAction`, ... */
  constructor(code: string) {
    super(`HostError: Error(${code})`);
    this.name = 'HostError';
  }
}

/** The call needs an archived entry that its declaration does not restore. */
export class ArchivedError extends Error {}
