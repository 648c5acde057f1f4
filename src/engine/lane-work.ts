import { DomainError } from '../core/errors.js';
import type { Chain, Head } from '../core/ports/chain.js';
import type { Log } from '../core/ports/log.js';
import { ConflictError } from '../core/ports/store.js';
import type { TransactionDeps } from '../core/transaction/send-transaction.js';
import type { LaneId } from '../core/transaction/transaction.js';
import { broadcastLive } from './broadcast-live.js';
import { expire, isExpired } from './expire.js';
import type { LaneState } from './lane-state.js';
import { prepare } from './prepare.js';
import { settle } from './settle.js';

/** What a lane's work needs to know from outside. */
export interface LaneWorkDeps extends TransactionDeps {
  readonly log: Log;
  /** Transactions of one account that may be signed and in no block. */
  readonly maxInFlight: number;
}

/**
 * One round of a lane's own work, in the order that a restart needs too: resolve every slot up to the chain's nonce, end what has expired, broadcast
 * what no node has taken, and only then sign anew, in the order accepted. Yields between its pieces, so that callers' commands go first.
 *
 * A node that cannot be asked ends the round: it says nothing about the chain, and the next round begins anew.
 *
 * @param newHead the newest head when it is not settled yet, else null
 */
export async function* workLane(
  deps: LaneWorkDeps,
  chain: Chain,
  id: LaneId,
  lane: LaneState,
  newHead: Head | null,
): AsyncGenerator<void, void, void> {
  try {
    if (newHead !== null) yield* settle(deps, chain, lane, newHead, await deps.store.read.openTransactions(id));
    if (lane.settled !== null) yield* moveOn(deps, chain, id, lane);
  } catch (error) {
    if (!(error instanceof DomainError && error.reason === 'NODE_UNAVAILABLE')) throw error;
    deps.log.warn({ relayer: lane.relayer.id, detail: error.message }, 'a lane waits for its nodes');
  }
}

async function* moveOn(deps: LaneWorkDeps, chain: Chain, id: LaneId, lane: LaneState): AsyncGenerator<void, void, void> {
  for (const open of await deps.store.read.openTransactions(id)) {
    if (!isExpired(open, deps.clock.nowMs())) continue;
    await unlessOvertaken(deps.log, lane, () => expire(deps, lane, open));
    yield;
  }
  const open = await deps.store.read.openTransactions(id);
  for (const one of open) {
    if (one.transaction.nonce === null) continue;
    await unlessOvertaken(deps.log, lane, () => broadcastLive(deps, chain, lane, one));
    yield;
  }
  let inFlight = open.filter(({ transaction }) => transaction.nonce !== null && transaction.mined === null).length;
  for (const { transaction } of open) {
    if (inFlight >= deps.maxInFlight) break;
    if (transaction.nonce !== null) continue;
    await unlessOvertaken(deps.log, lane, async () => {
      const prepared = await prepare(deps, chain, lane, transaction);
      if (prepared === null) return;
      inFlight += 1;
      await broadcastLive(deps, chain, lane, prepared);
    });
    yield;
  }
}

/** Runs a piece of work on what was read before. What another write overtook, or the chain refuses now, is left for the next round. */
async function unlessOvertaken(log: Log, lane: LaneState, piece: () => Promise<void>): Promise<void> {
  try {
    await piece();
  } catch (error) {
    if (error instanceof ConflictError) return;
    if (!(error instanceof DomainError) || error.reason === 'NODE_UNAVAILABLE') throw error;
    log.warn({ relayer: lane.relayer.id, reason: error.reason, detail: error.message }, 'a transaction waits');
  }
}
