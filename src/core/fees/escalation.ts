import type { Speed } from '../transaction/evm.js';

/** How long a version may wait before a higher one is signed, by speed: blocks that went by without it, or time, whichever is first. */
const patience: Readonly<Record<Speed, { readonly blocks: number; readonly ms: number }>> = {
  fastest: { blocks: 2, ms: 30_000 },
  fast: { blocks: 3, ms: 60_000 },
  average: { blocks: 6, ms: 120_000 },
  safeLow: { blocks: 12, ms: 300_000 },
};

/** Patience doubles with every version, up to this: the market moves on, but a hundred versions help nobody. */
const greatestFactor = 16;

/** What the schedule is asked about. */
export interface Waiting {
  readonly speed: Speed;
  /** Versions signed for the slot so far, at least 1. */
  readonly versions: number;
  /** How long the newest one has waited. */
  readonly waitedMs: number;
  /** Blocks that went by without it. */
  readonly waitedBlocks: number;
}

/** True when a higher version is due. With no new block at all it never is: no price helps where nothing is mined. */
export function isEscalationDue({ speed, versions, waitedMs, waitedBlocks }: Waiting): boolean {
  const factor = Math.min(2 ** (versions - 1), greatestFactor);
  const { blocks, ms } = patience[speed];
  return waitedBlocks >= 1 && (waitedBlocks >= blocks * factor || waitedMs >= ms * factor);
}
