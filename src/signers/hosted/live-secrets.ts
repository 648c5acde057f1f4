import { ProviderError } from './key-provider.js';

/** The credentials of a provider, which an operator may replace while the service runs. */
export interface LiveSecrets<S extends object> {
  /** Returns the current credentials. Call it for each use. */
  now(): S;
  /**
   * The texts of the current and of earlier credentials, for masking errors: a provider may quote credentials that it got before a change.
   */
  all(): readonly string[];
  /** Does the work. If the provider refuses and the credentials have changed since, does it again with the new ones. */
  following<T>(work: () => Promise<T>): Promise<T>;
}

/** Calls that began before a change may still quote the earlier credentials. */
const maxRecent = 4;

/**
 * Makes credentials that are read again when a provider refuses. Until then the current credentials are right, also while an operator
 * changes first the provider and then the file, or the reverse. `read` returns the credentials that can change and could be read.
 */
export function createLiveSecrets<S extends object>(first: S, read: () => Partial<S>): LiveSecrets<S> {
  let recent: readonly [S, ...S[]] = [first];

  function readAgain(): void {
    const found = { ...recent[0], ...read() };
    if (JSON.stringify(found) !== JSON.stringify(recent[0])) recent = [found, ...recent.slice(0, maxRecent - 1)];
  }

  return {
    now: () => recent[0],
    all: () => recent.flatMap((secrets) => Object.values(secrets).filter((text): text is string => typeof text === 'string')),
    async following(work) {
      const [used] = recent;
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof ProviderError) || error.problem !== 'refused') throw error;
        // Another call may have read them since this one began.
        if (recent[0] === used) readAgain();
        if (recent[0] === used) throw error;
        return work();
      }
    },
  };
}
