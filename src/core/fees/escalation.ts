import type { Refusal } from '../ports/chain.js';
import type { Speed } from '../records/evm.js';

/** How long an attempt waits before a fee bump, by speed: blocks without it, or time, whichever comes first. */
const patience: Readonly<Record<Speed, { readonly blocks: number; readonly ms: number }>> = {
  fastest: { blocks: 2, ms: 30_000 },
  fast: { blocks: 3, ms: 60_000 },
  average: { blocks: 6, ms: 120_000 },
  safeLow: { blocks: 12, ms: 300_000 },
};

/** On faster chains a block counts as this long: no transaction is included in the time of one such block. */
const minBlockMs = 1_000;

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
  /** The number of blocks since then that did not include it. */
  readonly waitedBlocks: number;
}

/** True if a fee bump is due. Without a new block it never is: no price helps while no block is mined. */
export function isEscalationDue({ speed, versions, waitedMs, waitedBlocks }: Waiting): boolean {
  const factor = Math.min(2 ** (versions - 1), maxFactor);
  const { blocks, ms } = patience[speed];
  const isPassedBy = waitedBlocks >= blocks * factor && waitedMs >= blocks * factor * minBlockMs;
  return waitedBlocks >= 1 && (isPassedBy || waitedMs >= ms * factor);
}

/** Returns the `status_reason` of a transaction whose fee bump was refused. */
export function notIncreasedReason(sentence: string): string {
  return /^(?:waiting|fee not increased): /.test(sentence) ? sentence : `fee not increased: ${sentence}`;
}

/** True if the reason says why the fee is not increased. */
export function isNotIncreasedReason(reason: string | null): boolean {
  return reason !== null && (reason === meetsMarket.sentence || reason.startsWith('fee not increased: '));
}
