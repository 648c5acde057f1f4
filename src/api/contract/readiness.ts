import { inTime } from '../../core/work/abort.js';
import type { Clock } from '../../core/work/clock.js';
import { shareRun } from '../../core/work/share-run.js';

/** Whether the service can work now, and why not. */
export interface Readiness {
  /** True if everything in `components` works. Networks never make it false: the service accepts transactions while a node is down. */
  readonly ready: boolean;
  /**
   * The parts that must work, by name (`store`, `lanes`): `ok` or a plain description of the problem. Public, so without addresses and
   * causes.
   */
  readonly components: Readonly<Record<string, string>>;
  /** Networks by name, in the same format; for information only. */
  readonly networks: Readonly<Record<string, string>>;
}

/** How long a measurement is reused: reading readiness is public, and measuring writes to the store. */
const maxAgeMs = 1000;
/** How long a measurement may take: probes expect an answer within a second, and the store may hang. */
const maxMeasuringMs = 800;

/** The dependencies of the readiness. */
export interface ReadinessDeps {
  readonly clock: Clock;
  /** Aborts when the service begins to leave. */
  readonly leaving: AbortSignal;
  /** True if the connection to the store is known to be lost, which no measurement has to find. */
  readonly isStoreAway?: () => boolean;
}

/**
 * Creates the readiness that the page and the health service share. It is measured at most once a second, and is false as soon as the
 * service begins to leave or loses its store, if measuring fails, and while a measurement hangs; another one then begins only after it.
 */
export function createReadiness(
  measure: () => Promise<Readiness>,
  { clock, leaving, isStoreAway = () => false }: ReadinessDeps,
): () => Promise<Readiness> {
  let latest: { readonly atMs: number; readonly readiness: Promise<Readiness> } | undefined;
  const measureShared = shareRun(() => measure().catch(() => unready('cannot be measured')));

  return async () => {
    const nowMs = clock.nowMs();
    // Measuring would wait for the store.
    if (latest === undefined || (!isStoreAway() && Math.abs(nowMs - latest.atMs) >= maxAgeMs))
      latest = { atMs: nowMs, readiness: inTime(measureShared(), maxMeasuringMs, unready('cannot be measured in time')) };
    const measurement = await latest.readiness;
    const readiness = isStoreAway() ? withoutStore(measurement) : measurement;
    if (!leaving.aborted) return readiness;
    return { ...readiness, ready: false, components: { ...readiness.components, service: 'stopping' } };
  };
}

function unready(problem: string): Readiness {
  return { ready: false, components: { readiness: problem }, networks: {} };
}

function withoutStore(readiness: Readiness): Readiness {
  return { ...readiness, ready: false, components: { ...readiness.components, store: 'not working' } };
}
