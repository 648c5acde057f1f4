import type { Fault, SimNetwork } from './faults.js';
import { chainPlants } from './plants-chains.js';
import { enginePlants } from './plants-engine.js';
import { liePlants } from './plants-lies.js';
import { limitPlants } from './plants-limits.js';
import { instancePlants, storagePlants } from './plants-storage.js';
import type { Seam } from './seam.js';

/** A fault that is put into the service on purpose, to see whether the simulation finds it. */
export interface Plant {
  readonly name: string;
  /** The functions that are wrong; several, if each of several guards alone is enough. */
  readonly seams: readonly Seam[];
  /** The only faults of the worlds that are searched, since others hide this one. Absent: the seed chooses. */
  readonly faults?: readonly Fault[];
  /** The cells of the matrix of lies that find it have this in their names. Absent: seeded worlds find it. */
  readonly cells?: string;
  /** Absent: EVM. */
  readonly network?: SimNetwork;
  /** Absent: one. */
  readonly instances?: number;
}

/** The faults. Several are what the engine once did wrong. */
export const plants: readonly Plant[] = [
  ...enginePlants,
  ...chainPlants,
  ...storagePlants,
  ...instancePlants,
  ...limitPlants,
  ...liePlants,
];

/** Returns the fault of this name. */
export function plantNamed(name: string | undefined): Plant {
  const plant = plants.find((one) => one.name === name);
  if (plant === undefined) throw new Error(`PLANT must be one of: ${plants.map((one) => one.name).join('; ')}`);
  return plant;
}
