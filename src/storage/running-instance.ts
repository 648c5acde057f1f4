/**
 * The state of an instance. `starting`: it is opening its keys and holds nothing yet. `sharing`: it holds its share of the leases. `draining`: it holds
 * none, and takes none.
 */
export type InstanceState = 'starting' | 'sharing' | 'draining';

/** An instance that shares a PostgreSQL database. */
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
