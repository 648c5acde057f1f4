import type { Refusal } from '../ports/chain/drafts.js';
import type { Speed } from '../records/evm.js';

/** How long an attempt waits before a fee bump, by speed: heads without it, or time, whichever comes first. */
const patience: Readonly<Record<Speed, { readonly heads: number; readonly ms: number }>> = {
  fastest: { heads: 2, ms: 30_000 },
  fast: { heads: 3, ms: 60_000 },
  average: { heads: 6, ms: 120_000 },
  safeLow: { heads: 12, ms: 300_000 },
};

/** On faster chains a head counts as this long: no transaction is included in the time of one such head. */
const minHeadMs = 1_000;

/** Patience doubles with every attempt up to this factor: the market moves, but ever more attempts do not help. */
const maxFactor = 16;

/** The refusal of a fee bump because the live bid meets the market price already: price is not the obstacle. */
export const meetsMarket: Refusal = {
  refused: 'bump_limit',
  sentence: 'waiting: no block includes it yet, although its bid meets the market price; if this lasts, check the RPC nodes',
  lasting: false,
};

/** A live attempt and how long it has waited. */
export interface Waiting {
  readonly speed: Speed;
  /** The number of attempts in the slot so far, at least 1. */
  readonly versions: number;
  /** How long the newest attempt has waited. */
  readonly waitedMs: number;
  /** The number of heads since then that did not include it. */
  readonly waitedHeads: number;
}

/** True if a fee bump is due. Without a new block it never is: no price helps while no block is mined. */
export function isEscalationDue({ speed, versions, waitedMs, waitedHeads }: Waiting): boolean {
  const factor = Math.min(2 ** (versions - 1), maxFactor);
  const { heads, ms } = patience[speed];
  const isPassedBy = waitedHeads >= heads * factor && waitedMs >= heads * factor * minHeadMs;
  return waitedHeads >= 1 && (isPassedBy || waitedMs >= ms * factor);
}

/** Returns the `status_reason` of a transaction whose fee bump was refused. */
export function notIncreasedReason(sentence: string): string {
  return /^(?:waiting|fee not increased): /.test(sentence) ? sentence : `fee not increased: ${sentence}`;
}

/** True if the reason says why the fee is not increased. */
export function isNotIncreasedReason(reason: string | null): boolean {
  return reason !== null && (reason === meetsMarket.sentence || reason.startsWith('fee not increased: '));
}
