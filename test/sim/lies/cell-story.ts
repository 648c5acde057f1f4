import { type Cell, endpointSets } from './cells.js';

/** What the chain of every cell is like. */
export const chainId = 31_337n;
export const gwei = 10n ** 9n;
export const blockMs = 2_000;
export const confirmations = 3;
export const rpcTimeoutMs = 5_000;

/** Blocks leave out the relayer's transactions meanwhile, and ask for a higher price for a while after it. */
export const held = { fromMs: 12_000, toMs: 40_000, surgeUntilMs: 70_000 };
export const at = { first: 1_000, second: 12_100, kill: 16_000, act: 20_000, validUntil: 32_000 } as const;
/** When the lies begin: with the service, while it is down, or after the second request was signed. */
const liesFromMs = { send: 0, restart: 10_000, replace: 15_000, cancel: 15_000, expiry: 15_000 } as const;
/** Without an honest endpoint, the lies end. */
export const healMs = 240_000;

/** What follows from a cell. */
export interface Story {
  readonly cell: Cell;
  /** Of each endpoint. */
  readonly roles: readonly string[];
  readonly hasHonest: boolean;
  /** The second request is ended, by its caller or by its time limit. */
  readonly isEnding: boolean;
  /** The caller sends many payments besides the three. */
  readonly isBusy: boolean;
  readonly more: readonly number[];
  /** When an endpoint goes away, and usually when the lies begin. */
  readonly fromMs: number;
  readonly liesFromMs: number;
}

/** Returns the story of a cell. */
export function storyOf(cell: Cell): Story {
  const { subject, endpoints, action } = cell;
  const roles: readonly string[] = endpointSets[endpoints];
  const isBusy = subject.world === 'busy';
  const fromMs = liesFromMs[action];
  return {
    cell,
    roles,
    hasHonest: roles.includes('honest'),
    isEnding: action === 'cancel' || action === 'expiry',
    isBusy,
    more: isBusy ? Array.from({ length: 30 }, (_, index) => 30 + index) : [],
    fromMs,
    // So that the first receipt is missing while the second request ends, or from before the restart.
    liesFromMs: subject.isDispensable === 'on the chain' ? 0 : fromMs,
  };
}
