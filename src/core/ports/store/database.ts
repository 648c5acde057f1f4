import type { Change } from './change.js';

/** Builders of changes of what the database knows about itself. */
export interface DatabaseChanges {
  /** Gives the database another id, so that earlier resume tokens are refused; never fails. */
  replaceDatabaseId(id: string): Change;
  /** Accepts the database as it is: what it may lack counts as lost, so the service starts on it and signs; never fails. */
  acceptDatabase(): Change;
  /**
   * Records that the database lacks commits that it had answered, as this transaction on a chain shows. Fails if an operator has accepted
   * the database since that was recorded.
   */
  recordRewind(evidence: string, hash: string): Change;
  /** Stores a confirmed time, see `AgeClock`; never fails. */
  confirmTime(timeMs: number): Change;
  /** Stores the sealed secret of the database; fails if it has one. */
  insertDatabaseSecret(sealed: string): Change;
  /** Writes the secret sealed again; fails if there is none. */
  resealDatabaseSecret(sealed: string): Change;
}

/** Queries of what the database knows about itself. */
export interface DatabaseReads {
  /** A random id that a restore changes. */
  databaseId(): Promise<string>;
  /** The time of the clock that the database has, in milliseconds since the epoch. */
  timeMs(): Promise<number>;
  /** The confirmed time that was stored last; null if none is stored. */
  confirmedTimeMs(): Promise<number | null>;
  /** The sealed secret of the database; undefined before its first start. */
  databaseSecret(): Promise<string | undefined>;
}
