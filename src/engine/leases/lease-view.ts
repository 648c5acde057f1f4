import { type LeaseKind, leaseKinds } from '../../core/ports/leases.js';
import type { StoredLeases } from '../../core/ports/shared-database.js';
import type { DurationClock } from '../../core/work/clock.js';

/**
 * Leases are read when a notification says that they have changed. This often they are looked at anyway, and read if they have changed or
 * one is free.
 */
const lookAtLeasesEveryMs = 5_000;

/** The holders of the leases of a kind, by key; null: the lease is free. */
export type Holders = ReadonlyMap<string, number | null>;

/** The leases as they were read last. It is outdated from the start, and when this instance knows or hears that it may be. */
export interface LeaseView {
  outdate(): void;
  /** Looks at the leases if that is due. True: they are to be read. `hasFree`: a unit has no lease yet, or its lease has no holder. */
  isDue(hasFree: boolean): Promise<boolean>;
  read(): Promise<void>;
  /** When they were read. */
  readAtMs(): number;
  holders(kind: LeaseKind): Holders;
  /** The note of a lease; null: it has none. */
  note(kind: LeaseKind, key: string): string | null;
  /** This holder gave up a lease, or failed to: a read in progress may show it as held. */
  givenUp(kind: LeaseKind, key: string, holder: number): void;
  /** The number of leases of this holder, by kind. */
  heldBy(holder: number): ReadonlyMap<LeaseKind, number>;
}

/** Creates a view that has read nothing. */
export function createLeaseView(leases: Pick<StoredLeases, 'all' | 'digest'>, clock: Pick<DurationClock, 'elapsedMs'>): LeaseView {
  let held: ReadonlyMap<LeaseKind, Map<string, number | null>> = new Map();
  let notes: ReadonlyMap<LeaseKind, ReadonlyMap<string, string>> = new Map();
  let isOutdated = true;
  /** How many leases were given up so far. */
  let givenUp = 0;
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  let readAtMs = 0;
  /** The leases as they were when they were looked at last. */
  let digest = '';

  async function read(): Promise<void> {
    const before = givenUp;
    const rows = await leases.all();
    // The read may show a lease as held here that this instance released meanwhile. Its work would run here and at the next holder.
    if (before !== givenUp) return read();
    const all = new Map<LeaseKind, Map<string, number | null>>(leaseKinds.map((kind) => [kind, new Map()]));
    const noted = new Map<LeaseKind, Map<string, string>>(leaseKinds.map((kind) => [kind, new Map()]));
    for (const { kind, key, holder, note } of rows) {
      all.get(kind)?.set(key, holder);
      if (note !== null) noted.get(kind)?.set(key, note);
    }
    held = all;
    notes = noted;
    readAtMs = clock.elapsedMs();
  }

  return {
    outdate() {
      isOutdated = true;
    },
    async isDue(hasFree) {
      if (!isOutdated && clock.elapsedMs() - lookedAtMs < lookAtLeasesEveryMs) return false;
      const before = digest;
      // Is read first, so that the next look finds what changes meanwhile.
      digest = await leases.digest();
      lookedAtMs = clock.elapsedMs();
      if (!isOutdated && !hasFree && digest === before) return false;
      isOutdated = false;
      return true;
    },
    read,
    readAtMs: () => readAtMs,
    holders: (kind) => held.get(kind) ?? new Map(),
    note: (kind, key) => notes.get(kind)?.get(key) ?? null,
    givenUp(kind, key, holder) {
      givenUp += 1;
      if (held.get(kind)?.get(key) === holder) held.get(kind)?.set(key, null);
    },
    heldBy: (holder) => new Map([...held].map(([kind, all]) => [kind, [...all.values()].filter((one) => one === holder).length])),
  };
}
