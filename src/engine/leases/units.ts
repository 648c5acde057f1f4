import { setImmediate as nextTurn } from 'node:timers/promises';
import { type LeaseKind, leaseKinds, type Work } from '../../core/ports/leases.js';
import { createUnit, type Unit } from './unit.js';

/** Looking at more units in one turn of the event loop would hold it for long. */
const unitsPerTurn = 2_000;

/** Visits the units of one kind, and lets other work run meanwhile. */
export async function visitUnits(units: ReadonlyMap<string, Unit>, visit: (key: string, unit: Unit) => void): Promise<void> {
  let visited = 0;
  for (const [key, unit] of units) {
    visited += 1;
    if (visited % unitsPerTurn === 0) await nextTurn();
    visit(key, unit);
  }
}

/** The units that this instance can work on. */
export interface Units {
  readonly byKind: ReadonlyMap<LeaseKind, ReadonlyMap<string, Unit>>;
  all(): readonly Unit[];
  get(kind: LeaseKind, key: string): Unit | undefined;
  /** Adds units. One that is known gets other work; resolves when the work before it has ended. */
  add(kind: LeaseKind, added: ReadonlyMap<string, Work>): Promise<void>;
  /** Forgets a unit, and returns it. */
  remove(kind: LeaseKind, key: string): Unit | undefined;
}

/** Creates the units of an instance, which has none yet. */
export function createUnits(): Units {
  const byKind = new Map<LeaseKind, Map<string, Unit>>(leaseKinds.map((kind) => [kind, new Map()]));
  const get = (kind: LeaseKind, key: string) => byKind.get(kind)?.get(key);
  return {
    byKind,
    all: () => [...byKind.values()].flatMap((own) => [...own.values()]),
    get,
    async add(kind, added) {
      const changes: Promise<void>[] = [];
      for (const [key, work] of added) {
        const known = get(kind, key);
        if (known === undefined) byKind.get(kind)?.set(key, createUnit(work));
        else changes.push(known.change(work));
      }
      await Promise.all(changes);
    },
    remove(kind, key) {
      const unit = get(kind, key);
      byKind.get(kind)?.delete(key);
      return unit;
    },
  };
}
