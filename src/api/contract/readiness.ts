import type { Clock } from '../../core/ports/clock.js';

/** Whether the service can work now, and why not. */
export interface Readiness {
  /** True if everything in `components` works. Networks never make it false: the service accepts transactions while a node is down. */
  readonly ready: boolean;
  /** What must work, by name (`store`, `lanes`): `ok` or a plain description of the problem. Public, so without addresses and causes. */
  readonly components: Readonly<Record<string, string>>;
  /** Networks by name, in the same format; for information only. */
  readonly networks: Readonly<Record<string, string>>;
}

/** How long a measurement is reused: reading readiness is public, and measuring writes to the store. */
const maxAgeMs = 1000;

/**
 * Creates the readiness that the page and the health service share. It is measured at most once a second, and is false as soon as the
 * service begins to stop, or if measuring fails.
 */
export function createReadiness(
  measure: () => Promise<Readiness>,
  { clock, shutdownSignal }: { readonly clock: Clock; readonly shutdownSignal: AbortSignal },
): () => Promise<Readiness> {
  let latest: { readonly atMs: number; readonly readiness: Promise<Readiness> } | undefined;
  return async () => {
    const nowMs = clock.nowMs();
    if (latest === undefined || Math.abs(nowMs - latest.atMs) >= maxAgeMs) {
      latest = {
        atMs: nowMs,
        readiness: measure().catch(() => ({ ready: false, components: { readiness: 'cannot be measured' }, networks: {} })),
      };
    }
    const readiness = await latest.readiness;
    if (!shutdownSignal.aborted) return readiness;
    return { ...readiness, ready: false, components: { ...readiness.components, service: 'stopping' } };
  };
}
