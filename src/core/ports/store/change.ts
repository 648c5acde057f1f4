/**
 * One statement of a commit, built by `Store.change`. Opaque outside the store.
 *
 * Read first, decide, then commit the decision guarded by what you read. A change whose guard fails undoes its whole list.
 */
export interface Change {
  /** The name of its builder, for messages and tests. */
  readonly name: string;
}

/** Thrown by `commit` if a guard failed or a unique value was taken; nothing of the list was written. */
export class ConflictError extends Error {
  override readonly name = 'ConflictError';
  /** The name of the change that failed. */
  readonly change: string;

  constructor(change: string) {
    super(`conflict in ${change}`);
    this.change = change;
  }
}

/** True for a conflict: what was decided may no longer be true, so it can be decided again. */
export function isConflict(error: unknown): error is ConflictError {
  return error instanceof ConflictError;
}

/**
 * Thrown by reads and commits while the database cannot be reached, does not answer or cannot be written. A commit may still have happened.
 */
export class StoreAwayError extends Error {
  override readonly name = 'StoreAwayError';
}

/** Thrown while the database answers but rejects valid statements, until an operator has repaired it. Nothing was written. */
export class StoreBrokenError extends StoreAwayError {
  /** True if any write fails because of it, so that a check of the store shows when it works again. */
  readonly failsAllWrites: boolean;

  constructor(message: string, { failsAllWrites, cause }: { readonly failsAllWrites: boolean; readonly cause: unknown }) {
    super(message, { cause });
    this.failsAllWrites = failsAllWrites;
  }
}
