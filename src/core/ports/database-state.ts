import type { Rewind } from './shared-database.js';

/** An open transaction that was in memory when signing was stopped. The database may lack it, or its attempts. */
export interface HeldTransaction {
  readonly relayer: string;
  readonly transaction: string;
  /** Null: it has none. */
  readonly nonce: string | null;
  /** Of its attempts. */
  readonly hashes: readonly string[];
}

/** What an instance knows of the database that it shares with others. */
export interface DatabaseState {
  /** The database's time; null: its clock is this machine's, or was not read yet. */
  timeMs(): number | null;
  /** Why nothing may be signed or broadcast now, for the operator; null: an instance may. */
  hold(): string | null;
  /** Why this instance signs nothing, although others may; null: it may. */
  ownHold(): string | null;
  /** Not null: the database lacks commits that it had answered. It stays so while this instance runs. */
  rewind(): Rewind | null;
  /** Keeps what a lane had in memory outside the database. Returns at once. */
  keepHeld?(held: readonly HeldTransaction[]): void;
}

/** The state of a database that no other process uses. */
export const soleDatabase: DatabaseState = { timeMs: () => null, rewind: () => null, hold: () => null, ownHold: () => null };

/** Thrown instead of a signature, or of the commit of an attempt, during a hold of this instance. Nothing was written. */
export class SigningHeldError extends Error {
  override readonly name = 'SigningHeldError';

  constructor(hold: string) {
    super(`nothing is signed now: ${hold}`);
  }
}

/** Throws SigningHeldError during a hold of this instance. */
export function requireNoHold({ ownHold }: Pick<DatabaseState, 'ownHold'>): void {
  const hold = ownHold();
  if (hold !== null) throw new SigningHeldError(hold);
}
