import type { BlockTimes } from '../../src/core/rules/spend-ledger.js';

/** For transactions: only what signatures can move depends on the time of blocks. */
export const noBlockTimes: BlockTimes = { ofRelayer: () => null };
