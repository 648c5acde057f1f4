/** What an instance knows of the database that it shares with others. */
export interface DatabaseState {
  /** The database's time; null: its clock is this machine's, or was not read yet. */
  timeMs(): number | null;
  /** Why nothing may be signed or broadcast now, for the operator; null: it may. */
  hold(): string | null;
}

/** The state of a database that no other process uses. */
export const soleDatabase: DatabaseState = { timeMs: () => null, hold: () => null };
