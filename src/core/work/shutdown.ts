import { endsWithin, startDeadline } from './abort.js';
import { monotonicMs } from './clock.js';
import type { Log } from './log.js';

/** Ends one part of the service. It may take until the signal aborts; then it must cut off what still runs. */
type Release = (deadline: AbortSignal) => Promise<unknown>;

/**
 * The order in which parts end: callers and all work of the service together, then the connections to nodes, then the database, then the
 * traces that all of these write.
 */
const phases = ['work', 'nodes', 'store', 'traces'] as const;
type Phase = (typeof phases)[number];

/** Ends the service by one deadline, even if a part hangs. */
export interface Shutdown {
  /** Aborts when the service begins to leave: callers should go elsewhere, and are still served if they come. */
  readonly leaving: AbortSignal;
  /** Aborts when the service begins to stop. */
  readonly signal: AbortSignal;
  /** Adds a part that was started. */
  onStop(phase: Phase, release: Release): void;
  /** Begins to leave. */
  leave(): void;
  /** Ends every part, and resolves at the latest when both time limits have passed. */
  stop(): Promise<void>;
}

/** The time limits of a shutdown. */
export interface ShutdownOptions {
  readonly log: Log;
  /** How long running work may take. */
  readonly deadlineMs: number;
  /** How long all else may take after that. */
  readonly closingMs: number;
}

/** Makes a shutdown without parts. */
export function createShutdown({ log, deadlineMs, closingMs }: ShutdownOptions): Shutdown {
  const leaving = new AbortController();
  const stopping = new AbortController();
  const releases: Record<Phase, Release[]> = { work: [], nodes: [], store: [], traces: [] };

  async function stop(): Promise<void> {
    leaving.abort();
    stopping.abort();
    const startedMs = monotonicMs();
    const cutting = startDeadline(deadlineMs);
    for (const phase of phases) {
      const ended = Promise.allSettled(releases[phase].splice(0).map((release) => release(cutting.signal)));
      const limitMs = phase === 'work' ? deadlineMs : deadlineMs + closingMs;
      const isEnded = await endsWithin(ended, limitMs - (monotonicMs() - startedMs));
      if (!isEnded) log.warn({ phase }, 'shutdown deadline reached; ending the calls and connections that are still open');
    }
    cutting.clear();
  }

  return {
    leaving: leaving.signal,
    signal: stopping.signal,
    onStop: (phase, release) => void releases[phase].push(release),
    leave: () => leaving.abort(),
    stop,
  };
}
