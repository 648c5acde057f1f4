import type { Instance } from '../statements/instances.js';

/** Thrown if another process works on the database: two would use the same nonces. */
export class DatabaseLockedError extends Error {
  override readonly name = 'DatabaseLockedError';
  /** Undefined if the holder has not written its name yet. */
  readonly holder: Instance | undefined;

  constructor(holder: Instance | undefined) {
    const by =
      holder === undefined
        ? 'another process'
        : `process ${holder.pid} on host ${holder.host}, since ${new Date(holder.since_ms).toISOString()}`;
    super(`the database is in use by ${by}; only one instance at a time can use it`);
    this.holder = holder;
  }
}
