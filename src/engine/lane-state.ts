import type { Head } from '../core/ports/chain.js';
import type { Relayer } from '../core/relayer/relayer.js';

/**
 * What a lane remembers between its rounds. All of it can be lost: a restart resolves every slot up to the chain's nonce first, then broadcasts
 * what it finds again, and only then signs anew.
 */
export interface LaneState {
  readonly relayer: Relayer;
  /** The newest head up to which the lane's slots are resolved; null: not once since the start, so nothing may be sent. */
  settled: Head | null;
  /** The account's nonce at that head: the first that no block holds. */
  chainNonce: bigint;
  /** When each live version was last taken by a node, by hash. */
  readonly takenAtMs: Map<string, number>;
  /** When a version or a waiting transaction may be tried again, by hash or transaction id. */
  readonly notBeforeMs: Map<string, number>;
}
