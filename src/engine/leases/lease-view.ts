import { type LeaseKind, leaseKinds } from '../../core/ports/leases.js';
import type { Lease, LeasePart, StoredLeases } from '../../core/ports/shared-database.js';
import type { DurationClock } from '../../core/work/clock.js';

/**
 * Leases are read when a notification says that they have changed. This often they are looked at anyway, and read if they have changed or
 * one is free.
 */
const lookAtLeasesEveryMs = 5_000;

/** Reading more leases at once would hold the event loop for long; one part may have more. */
const leasesPerRead = 1_000;

/** The leases as they were read last. It is outdated from the start, and when this instance knows or hears that it may be. */
export interface LeaseView {
  outdate(): void;
  /** Looks at the leases if that is due. True: they are to be read. `hasFree`: a unit has no lease yet, or its lease has no holder. */
  isDue(hasFree: boolean): Promise<boolean>;
  /** Reads the parts that have changed since they were read. */
  read(): Promise<void>;
  /** When they were read. */
  readAtMs(): number;
  /** The number of leases of a kind. */
  count(kind: LeaseKind): number;
  /** The holder of a lease; null: it is free; undefined: there is no such lease. */
  holder(kind: LeaseKind, key: string): number | null | undefined;
  /** The note of a lease; null: it has none. */
  note(kind: LeaseKind, key: string): string | null;
  /** This holder gave up a lease, or failed to: a read in progress may show it as held. */
  givenUp(kind: LeaseKind, key: string, holder: number): void;
  /** The number of leases of each holder. */
  held(kind: LeaseKind): ReadonlyMap<number, number>;
}

/** A part as it was read. */
interface ReadPart {
  readonly leases: readonly Lease[];
  /** As it was before that; null: the part is to be read again. */
  digest: string | null;
}

/** The leases of a kind. */
interface KindView {
  readonly leases: Map<string, { readonly stored: Lease; readonly part: ReadPart; holder: number | null }>;
  readonly held: Map<number, number>;
}

/** Creates a view that has read nothing. */
export function createLeaseView(leases: Pick<StoredLeases, 'parts' | 'ofParts'>, clock: Pick<DurationClock, 'elapsedMs'>): LeaseView {
  const kinds = new Map<LeaseKind, KindView>(leaseKinds.map((kind) => [kind, { leases: new Map(), held: new Map() }]));
  const read = new Map<number, ReadPart>();
  /** The parts as they were when they were looked at last, until they are read. */
  let looked: ReadonlyMap<number, LeasePart> | null = null;
  let isOutdated = true;
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  let readAtMs = 0;
  /**
   * The leases that were given up since a read began, and their holders. The read may show such a lease as held here: its work would run
   * here and at the next holder.
   */
  const givenUp = new Map<string, number>();

  const viewOf = (kind: LeaseKind): KindView => kinds.get(kind) ?? { leases: new Map(), held: new Map() };
  const nameOf = (kind: LeaseKind, key: string): string => `${kind} ${key}`;

  function count({ held }: KindView, holder: number | null, by: 1 | -1): void {
    if (holder !== null) held.set(holder, (held.get(holder) ?? 0) + by);
  }

  function replace(number: number, next: ReadPart): void {
    for (const { kind, key } of read.get(number)?.leases ?? []) {
      const view = viewOf(kind);
      count(view, view.leases.get(key)?.holder ?? null, -1);
      view.leases.delete(key);
    }
    if (next.leases.length === 0) read.delete(number);
    else read.set(number, next);
    for (const stored of next.leases) {
      const view = viewOf(stored.kind);
      const isGivenUp = stored.holder !== null && givenUp.get(nameOf(stored.kind, stored.key)) === stored.holder;
      if (isGivenUp) next.digest = null;
      const holder = isGivenUp ? null : stored.holder;
      view.leases.set(stored.key, { stored, part: next, holder });
      count(view, holder, 1);
    }
  }

  return {
    outdate() {
      isOutdated = true;
    },
    async isDue(hasFree) {
      if (!isOutdated && clock.elapsedMs() - lookedAtMs < lookAtLeasesEveryMs) return false;
      looked = await leases.parts();
      lookedAtMs = clock.elapsedMs();
      if (!isOutdated && !hasFree && rangesOf(read, looked).length === 0) return false;
      isOutdated = false;
      return true;
    },
    async read() {
      givenUp.clear();
      // Are looked at first, so that the next look finds what changes meanwhile.
      const parts = looked ?? (await leases.parts());
      looked = null;
      for (const [first, last] of rangesOf(read, parts)) {
        const byPart = Array.from({ length: last - first + 1 }, (): Lease[] => []);
        for (const { part, ...lease } of await leases.ofParts(first, last)) byPart[part - first]?.push(lease);
        for (const [index, ofPart] of byPart.entries())
          replace(first + index, { leases: ofPart, digest: parts.get(first + index)?.digest ?? null });
      }
      readAtMs = clock.elapsedMs();
    },
    readAtMs: () => readAtMs,
    count: (kind) => viewOf(kind).leases.size,
    holder: (kind, key) => viewOf(kind).leases.get(key)?.holder,
    note: (kind, key) => viewOf(kind).leases.get(key)?.stored.note ?? null,
    givenUp(kind, key, holder) {
      givenUp.set(nameOf(kind, key), holder);
      const view = viewOf(kind);
      const lease = view.leases.get(key);
      if (lease?.holder !== holder) return;
      count(view, holder, -1);
      lease.holder = null;
      // If giving it up failed, it is still held.
      lease.part.digest = null;
    },
    held: (kind) => viewOf(kind).held,
  };
}

/** Returns the first and the last part of each read, so that all parts are read that differ from what was read of them. */
function rangesOf(
  read: ReadonlyMap<number, ReadPart>,
  parts: ReadonlyMap<number, LeasePart>,
): readonly (readonly [first: number, last: number])[] {
  const ranges: { first: number; last: number; leases: number }[] = [];
  const numbers = [...new Set([...read.keys(), ...parts.keys()])].sort((a, b) => a - b);
  let between = 0;
  for (const number of numbers) {
    const { count, digest } = parts.get(number) ?? { count: 0, digest: null };
    const range = ranges.at(-1);
    between += count;
    if (digest !== null && read.get(number)?.digest === digest) continue;
    if (range !== undefined && range.leases + between <= leasesPerRead)
      Object.assign(range, { last: number, leases: range.leases + between });
    else ranges.push({ first: number, last: number, leases: count });
    between = 0;
  }
  return ranges.map(({ first, last }) => [first, last]);
}
