/**
 * The states of an instance. `starting`: it is opening its keys and holds nothing yet. `sharing`: it holds its share of the leases.
 * `draining`: it gives up its leases, and takes none.
 */
export const instanceStates = ['starting', 'sharing', 'draining'] as const;

/** One of them. */
export type InstanceState = (typeof instanceStates)[number];

/** An instance that uses the database. */
export interface RunningInstance {
  /** Another one each time that the instance joins. */
  readonly id: string;
  readonly version: string;
  readonly host: string;
  readonly pid: number;
  readonly state: InstanceState;
  /** When it joined, in milliseconds since the epoch. */
  readonly sinceMs: number;
  /** When the database last heard from it; null: it is not connected now. */
  readonly seenAtMs: number | null;
  /** The number of lanes that it holds. */
  readonly lanes: number;
}

/** The instances that use the database of this one. */
export interface Instances {
  /** The id of this instance. */
  ownId(): string;
  /** As they were seen last. */
  instances(): readonly RunningInstance[];
  /** What is wrong with the database or the clocks, as this instance saw it last, in sentences for operators. Empty: nothing. */
  dangers(): readonly string[];
  /**
   * Tells an instance to give up its leases, and to take none until its process starts again or the drain is undone. False: there is no
   * such instance. Throws `INSTANCE_ALONE` if no other one can use the database of this one, and, unless `isForced`, if no other one shares
   * the work.
   */
  drain(id: string, isForced: boolean): Promise<boolean>;
  /** Undoes a drain: the instance takes its share at its next looks. False: there is no such instance. */
  undrain(id: string): Promise<boolean>;
}
