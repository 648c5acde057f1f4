import type { Leases, Work } from '../../src/core/ports/leases.js';
import { createSoleLeases } from '../../src/engine/leases/sole.js';

/** The leases of the only instance, which begins each work at once. */
export async function soleLeases(): Promise<Leases> {
  const leases = createSoleLeases();
  await leases.start();
  return leases;
}

/** Begins every work. */
export async function beginAll(works: ReadonlyMap<string, Work>): Promise<void> {
  await Promise.all([...works.values()].map((work) => work.begin()));
}
