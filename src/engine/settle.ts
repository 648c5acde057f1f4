import type { Chain, Head, Receipt } from '../core/ports/chain.js';
import type { OpenTransaction } from '../core/ports/store.js';
import { mined, resolved, takenBack, waiting } from '../core/transaction/lifecycle.js';
import type { TransactionDeps } from '../core/transaction/send-transaction.js';
import type { Attempt, Transaction } from '../core/transaction/transaction.js';
import { isFinal } from '../core/transaction/transaction.js';
import { transactionChanges } from '../core/transaction/transaction-changes.js';
import type { LaneState } from './lane-state.js';

/**
 * Brings a lane's transactions to what the chain says at a head: mined, taken back, resolved. The chain is the only one that decides: a slot is
 * resolved by a receipt of one of its versions at the required confirmations. A higher account nonce alone proves nothing.
 *
 * One head and one account nonce for the whole lane; receipts only for slots below that nonce. Throws `NODE_UNAVAILABLE`.
 */
export async function* settle(
  deps: TransactionDeps,
  chain: Chain,
  lane: LaneState,
  head: Head,
  open: readonly OpenTransaction[],
): AsyncGenerator<void> {
  const chainNonce = await chain.nonceOf(lane.relayer.address);
  for (const { transaction, attempts } of open) {
    if (transaction.nonce === null || (transaction.mined === null && transaction.nonce >= chainNonce)) continue;
    await settleTransaction(deps, chain, lane, head, transaction, attempts);
    yield;
  }
  lane.chainNonce = chainNonce;
  lane.settled = head;
}

async function settleTransaction(
  deps: TransactionDeps,
  chain: Chain,
  lane: LaneState,
  head: Head,
  stored: Transaction,
  attempts: readonly Attempt[],
): Promise<void> {
  let transaction = stored;
  const found = await findMined(chain, transaction, attempts);

  async function become(after: Transaction): Promise<void> {
    await deps.store.commit(transactionChanges(deps, lane.relayer, transaction, after, attempts));
    transaction = after;
  }

  if (found === null) {
    if (transaction.mined !== null) {
      for (const attempt of attempts) lane.takenAtMs.delete(attempt.hash);
      await become(takenBack(transaction));
    } else {
      const reason = `nonce ${transaction.nonce} is used on chain, but the node shows none of our versions there; waiting for the chain to tell`;
      if (transaction.statusReason !== reason) await become(waiting(transaction, reason));
    }
    return;
  }
  const { attempt, receipt } = found;
  if (transaction.mined?.blockHash !== receipt.blockHash || transaction.mined.version !== attempt.version) {
    const at = { version: attempt.version, blockNumber: receipt.blockNumber, blockHash: receipt.blockHash, succeeded: receipt.succeeded };
    await become(mined(transaction, at, deps.clock.nowMs()));
  }
  const confirmations = head.number - receipt.blockNumber + 1n;
  if (confirmations >= BigInt(lane.relayer.network.requiredConfirmations)) {
    await become(resolved(transaction, attempt.purpose, receipt.revertReason, deps.clock.nowMs()));
  }
  if (isFinal(transaction.status)) for (const { hash } of attempts) lane.takenAtMs.delete(hash);
}

/** The version that a block holds: the one known to be mined is asked for first, then the newest. */
async function findMined(
  chain: Chain,
  transaction: Transaction,
  attempts: readonly Attempt[],
): Promise<{ attempt: Attempt; receipt: Receipt } | null> {
  const minedVersion = transaction.mined?.version;
  const likeliestFirst = [...attempts].sort(
    (a, b) => Number(b.version === minedVersion) - Number(a.version === minedVersion) || b.version - a.version,
  );
  for (const attempt of likeliestFirst) {
    const receipt = await chain.receipt(attempt.hash);
    if (receipt !== null) return { attempt, receipt };
  }
  return null;
}
