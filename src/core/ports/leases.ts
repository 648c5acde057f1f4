/**
 * The kinds of work that several instances share. One instance at a time does the work on a unit: on the lane of an account, on the
 * deliveries of a notification, or on deleting what is old (one unit).
 */
export const leaseKinds = ['lane', 'notification', 'housekeeping'] as const;

/** One of them. */
export type LeaseKind = (typeof leaseKinds)[number];

/** The work on one unit. */
export interface Work {
  /** Begins it, from what the store has. If it fails, it is tried again. */
  begin(): Promise<void>;
  /**
   * Ends it; resolves when nothing of it runs any more. Another instance may begin it then. `isTakenOver`: another one has begun it
   * already, so there is no need to wait for what stores nothing any more.
   */
  end(isTakenOver?: boolean): Promise<void>;
  /** Called while the work does not run here, each time that its note changes: what the instance with the lease has left; null: nothing. */
  noted?(note: string | null): void;
}

/**
 * Decides which units this instance works on. A lease keeps work from being done twice; it protects nothing: safety rests on the guards of
 * each commit, and on the rule that an instance which lost its leases can commit nothing more.
 */
export interface Leases {
  /** Begins the work on the units added so far. Resolves when each of them has begun here, or is left to another instance. */
  start(): Promise<void>;
  /** Adds units. Resolves as `start` does; before `start` at once. */
  add(kind: LeaseKind, units: ReadonlyMap<string, Work>): Promise<void>;
  /** Leaves a note on a unit whose work runs here, for the other instances; null: removes it. Ends with the work. Returns at once. */
  note(kind: LeaseKind, key: string, note: string | null): void;
  /** Removes a unit; resolves when its work has ended, if it ran here. */
  remove(kind: LeaseKind, key: string): Promise<void>;
  /** The number of leases that this instance holds, by kind. */
  held(): ReadonlyMap<LeaseKind, number>;
  /** Ends all work and gives up its leases. */
  stop(): Promise<void>;
}
