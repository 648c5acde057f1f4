import type { Instances, RunningInstance } from '../ports/instances.js';
import type { DurationClock } from '../work/clock.js';
import type { Versioned } from './network-glances.js';

/** A backlog may be long, and counting it costs the more. */
const countBacklogEveryMs = 5_000;
/** An instance is seen every few seconds: only later sightings are news. */
const sightingMs = 10_000;

/** The figures of the service that belong to no relayer and no network. */
export interface ServiceFigures {
  readonly backlog: Versioned<number> | null;
  readonly instances: Versioned<readonly RunningInstance[]> | null;
  /** Reads them for a look with this version. */
  compare(version: number): Promise<void>;
}

/** The parts that know them. */
export interface ServiceFiguresDeps {
  /** The number of pending webhook events, counted up to a limit. */
  readonly backlog: () => Promise<number>;
  readonly sharing: Pick<Instances, 'instances'>;
  readonly clock: DurationClock;
}

/** Creates the figures; none is known. */
export function createServiceFigures({ backlog: count, sharing, clock }: ServiceFiguresDeps): ServiceFigures {
  let backlog: (Versioned<number> & { readonly atMs: number }) | null = null;
  let instances: (Versioned<readonly RunningInstance[]> & { readonly text: string }) | null = null;

  return {
    get backlog() {
      return backlog;
    },
    get instances() {
      return instances;
    },
    async compare(version) {
      const value = sharing.instances();
      const text = JSON.stringify(
        value.map((one) => ({ ...one, seenAtMs: one.seenAtMs === null ? null : Math.floor(one.seenAtMs / sightingMs) })),
      );
      if (instances?.text !== text) instances = { version, value, text };
      const nowMs = clock.elapsedMs();
      if (backlog !== null && nowMs - backlog.atMs < countBacklogEveryMs) return;
      const counted = await count();
      backlog = { value: counted, version: backlog?.value === counted ? backlog.version : version, atMs: nowMs };
    },
  };
}
