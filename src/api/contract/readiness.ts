import type { Clock } from '../../core/ports/clock.js';

/** Whether the service can do its work now, and why not. */
export interface Readiness {
  /** Everything in `components` works. Networks never make it false: sends are accepted while a node is down. */
  readonly ready: boolean;
  /** What must work, by name (`store`, `lanes`): `ok`, or what is wrong in plain words. Public, so without addresses and causes. */
  readonly components: Readonly<Record<string, string>>;
  /** Networks by name, in the same way; told only. */
  readonly networks: Readonly<Record<string, string>>;
}

/** Answers are this fresh: asking is public, and may cost a write to the store. */
const maxAgeMs = 1000;

/**
 * Makes the readiness that all ways of asking share: measured at most once a second, however many ask, and false from the moment that the
 * service begins to stop. Where measuring itself fails, the service is not ready.
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
        readiness: measure().catch(() => ({ ready: false, components: { readiness: 'cannot be told' }, networks: {} })),
      };
    }
    const readiness = await latest.readiness;
    if (!shutdownSignal.aborted) return readiness;
    return { ...readiness, ready: false, components: { ...readiness.components, service: 'stopping' } };
  };
}
