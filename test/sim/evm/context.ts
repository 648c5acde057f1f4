import type { RunContext } from '../context.js';
import type { SimRelayer } from '../service.js';
import type { Auditor } from './auditor.js';
import type { Ledger } from './ledger.js';
import type { SimNode } from './node.js';
import type { Pool } from './pool.js';

/** What the parts of a run on EVM share. */
export interface EvmContext extends RunContext {
  readonly ledger: Ledger;
  readonly nodes: readonly SimNode[];
  /** What those who build blocks know. */
  readonly builder: Pool;
  readonly relayers: readonly SimRelayer[];
  readonly blockMs: number;
  readonly confirmations: number;
  readonly chainId: bigint;
  auditor(): Auditor;
}
