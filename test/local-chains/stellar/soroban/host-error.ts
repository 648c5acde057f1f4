/** A call that the host ended: what it did is undone, and the operation is INVOKE_HOST_FUNCTION_TRAPPED. */
export class HostError extends Error {
  /** `code` as the host words it: `Contract, #1`, `Auth, InvalidAction`, ... */
  constructor(code: string) {
    super(`HostError: Error(${code})`);
    this.name = 'HostError';
  }
}
