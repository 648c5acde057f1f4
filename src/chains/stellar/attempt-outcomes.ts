import type { AttemptOutcome } from '../../core/ports/chain.js';
import { onNetwork } from '../../core/relayer/on-network.js';
import { type Attempt, hashesOf } from '../../core/transaction/transaction.js';
import type { Rpc } from '../rpc/rpc.js';
import { type Account, readAccount } from './account.js';
import { accountOf } from './address.js';
import { type NodeView, readTransactions, receiptFrom, withoutFee } from './receipts.js';

/**
 * What became of fee bumps of other accounts' envelopes. One that the node does not know is dead when a ledger was closed after its time bounds, or when its
 * sequence number is used, and the same node still has every ledger since it was drafted; lost, when it has not, unless its number is known not to be used.
 * Throws `NODE_UNAVAILABLE`.
 */
export async function readOutcomes(
  rpc: Rpc,
  networkId: Buffer,
  attempts: readonly Attempt[],
): Promise<ReadonlyMap<string, AttemptOutcome>> {
  // Before the transactions: what has used a number by then, a node that knows as much must know.
  const accounts = await readAccounts(rpc, attempts);
  const views = await readTransactions(rpc, networkId, attempts.flatMap(hashesOf));
  const outcomes = new Map<string, AttemptOutcome>();
  for (const attempt of attempts) outcomes.set(attempt.hash, outcomeOf(attempt, views, accounts.get(sourceOf(attempt)) ?? null));
  return outcomes;
}

function sourceOf({ fields }: Attempt): string {
  return accountOf(onNetwork('stellar', fields).sourceAccount) ?? '';
}

async function readAccounts(rpc: Rpc, attempts: readonly Attempt[]): Promise<ReadonlyMap<string, Account | null>> {
  const addresses = [...new Set(attempts.map(sourceOf))];
  const accounts = await Promise.all(addresses.map((address) => readAccount(rpc, address)));
  return new Map(addresses.map((address, index) => [address, accounts[index] ?? null]));
}

function outcomeOf(attempt: Attempt, views: ReadonlyMap<string, NodeView>, account: Account | null): AttemptOutcome {
  for (const hash of hashesOf(attempt)) {
    const known = views.get(hash);
    const receipt = known === undefined ? null : receiptFrom(hash, known);
    // Without our fee bump around it the fee is not ours.
    if (receipt !== null) return { kind: 'landed', receipt: hash === attempt.hash ? receipt : withoutFee(receipt), isFinal: true };
  }
  // Each may be of another node: what counts is what all of them know.
  const [first, ...others] = hashesOf(attempt).flatMap((hash) => views.get(hash) ?? []);
  if (first === undefined) return { kind: 'open' };
  const { latestLedger, latestCloseTimeS, oldestLedger } = others.reduce(knownToBoth, first);
  const { maxTimeS, sequence, ledger } = onNetwork('stellar', attempt.fields);
  const isWhole = oldestLedger <= ledger + 1n;
  // Else the account is of a node that is ahead of the one that told of the transaction.
  const isUsed = account !== null && account.sequence >= sequence && latestLedger >= account.ledger;
  if (isUsed) {
    if (!isWhole) return { kind: 'unknown' };
    return { kind: 'dead', sentence: `sequence number ${sequence} of its source account was used by another transaction` };
  }
  if (maxTimeS === null || latestCloseTimeS < maxTimeS) return { kind: 'open' };
  // Not used when its account was asked for, and in none of the ledgers since.
  const isUnused = account !== null && account.sequence < sequence && oldestLedger <= account.ledger + 1n;
  if (!isWhole && !isUnused) return { kind: 'unknown' };
  return { kind: 'dead', sentence: 'its time bounds have passed, and no ledger holds it' };
}

function knownToBoth(a: NodeView, b: NodeView): NodeView {
  return {
    found: null,
    latestLedger: a.latestLedger < b.latestLedger ? a.latestLedger : b.latestLedger,
    latestCloseTimeS: a.latestCloseTimeS < b.latestCloseTimeS ? a.latestCloseTimeS : b.latestCloseTimeS,
    oldestLedger: a.oldestLedger > b.oldestLedger ? a.oldestLedger : b.oldestLedger,
  };
}
