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

/** Creates the leases of a process that shares its database with no other: it does all work. */
export function createSoleLeases(): Leases {
  const units = new Map<LeaseKind, Map<string, Work>>(leaseKinds.map((kind) => [kind, new Map()]));
  const works = () => [...units.values()].flatMap((own) => [...own.values()]);
  let isStarted = false;
  return {
    async start() {
      isStarted = true;
      await Promise.all(works().map((work) => work.begin()));
    },
    async add(kind, added) {
      for (const [key, work] of added) units.get(kind)?.set(key, work);
      if (isStarted) await Promise.all([...added.values()].map((work) => work.begin()));
    },
    note: () => undefined,
    async remove(kind, key) {
      const work = units.get(kind)?.get(key);
      units.get(kind)?.delete(key);
      await work?.end();
    },
    held: () => new Map([...units].map(([kind, own]) => [kind, isStarted ? own.size : 0])),
    async stop() {
      const ended = isStarted ? works().map((work) => work.end()) : [];
      for (const own of units.values()) own.clear();
      await Promise.all(ended);
    },
  };
}
