import { storedAtOnce } from './commit-moves.js';
import type { LaneInputs } from './lane-inputs.js';
import type { SignerAway } from './signer-away.js';

/**
 * The lane requests more signatures from a hosted key at once if it returns them within `quickMs`, and fewer if it takes longer than
 * `slowMs`. The sizes are powers of two, like most limits of parallel calls, so that the last calls of a batch use the whole limit.
 */
const hostedBatch = { least: 16, first: 64, most: 256, quickMs: 1_000, slowMs: 2_000 };

/** The lane asks the signer again at the earliest after this time. */
const minPauseMs = 250;

/** The result of a batch of signatures. */
interface SignedBatch {
  /** The number of requested signatures. */
  readonly count: number;
  readonly tookMs: number;
  /** Why the signer gave some of them not; null: it gave all. */
  readonly failure: SignerAway | null;
}

/** How many signatures a lane requests at once, and when. */
export interface SigningPace {
  batchSize(): number;
  /** Why the signer gave no signature last; null: it signs. */
  whyAway(): string | null;
  /** True until the time that the signer's last error names. */
  isPaused(): boolean;
  noteBatch(batch: SignedBatch): void;
  /** Wakes nothing any more. */
  stop(): void;
}

/** Creates the pace of a lane whose signer has signed nothing yet. `wake` is called when the lane may request signatures again. */
export function createSigningPace({ deps, relayer }: Pick<LaneInputs, 'deps' | 'relayer'>, wake: () => void): SigningPace {
  let hostedSize = hostedBatch.first;
  let away: { readonly sentence: string; readonly untilMs: number } | null = null;
  let stopWaking = (): void => {};

  /** A batch that takes long delays what its first transactions could already do, and its last ones miss the signer's deadline. */
  function adaptSize({ count, tookMs, failure }: SignedBatch): void {
    const { least, most, quickMs, slowMs } = hostedBatch;
    if (failure !== null) hostedSize = Math.max(least, Math.floor(hostedSize / 2));
    else if (count > least && tookMs > slowMs) hostedSize = Math.max(least, Math.floor((count * quickMs) / tookMs));
    else if (count >= hostedSize && tookMs < quickMs) hostedSize = Math.min(most, hostedSize * 2);
  }

  return {
    batchSize: () => (deps.directory.signerOf(relayer()).isHosted === true ? hostedSize : storedAtOnce),
    whyAway: () => away?.sentence ?? null,
    isPaused: () => away !== null && deps.clock.elapsedMs() < away.untilMs,
    noteBatch(batch) {
      adaptSize(batch);
      away = null;
      if (batch.failure === null) return;
      const pauseMs = Math.max(minPauseMs, batch.failure.retryAfterMs ?? 0);
      away = { sentence: batch.failure.message, untilMs: deps.clock.elapsedMs() + pauseMs };
      stopWaking();
      stopWaking = deps.timers.after(pauseMs, wake);
    },
    stop: () => stopWaking(),
  };
}
