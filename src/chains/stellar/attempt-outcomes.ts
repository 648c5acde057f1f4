import type { AttemptOutcome } from '../../core/ports/chain.js';
import { onNetwork } from '../../core/relayer/on-network.js';
import { type Attempt, hashesOf } from '../../core/transaction/transaction.js';
import type { Rpc } from '../rpc/rpc.js';
import { type Account, readAccount } from './account.js';
import { accountOf } from './address.js';
import { type NodeView, readTransactions, receiptFrom, withoutFee } from './receipts.js';

/**
 * Reads the outcomes of fee-bump envelopes around other accounts' transactions. An attempt that the node does not know is dead if a ledger closed after its
 * time bounds, or if its sequence number is used, and the same node still has every ledger since the draft. If the node lacks some of them, the outcome is
 * unknown, unless the sequence number is provably unused. Throws `NODE_UNAVAILABLE`.
 */
export async function readOutcomes(
  rpc: Rpc,
  networkId: Buffer,
  attempts: readonly Attempt[],
): Promise<ReadonlyMap<string, AttemptOutcome>> {
  // Accounts come first: a node at the same ledger or later must know the transactions that used their sequence numbers.
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
    // Without our fee-bump envelope around it, another account paid the fee.
    if (receipt !== null) return { kind: 'landed', receipt: hash === attempt.hash ? receipt : withoutFee(receipt), isFinal: true };
  }
  // The views may come from different nodes: only what all of them know counts.
  const [first, ...others] = hashesOf(attempt).flatMap((hash) => views.get(hash) ?? []);
  if (first === undefined) return { kind: 'open' };
  const { latestLedger, latestCloseTimeS, oldestLedger } = others.reduce(commonView, first);
  const { maxTimeS, sequence, ledger } = onNetwork('stellar', attempt.fields);
  const hasAllLedgers = oldestLedger <= ledger + 1n;
  // A higher account ledger comes from a node that is ahead of the one that looked for the transaction.
  const isUsed = account !== null && account.sequence >= sequence && latestLedger >= account.ledger;
  if (isUsed) {
    if (!hasAllLedgers) return { kind: 'unknown' };
    return { kind: 'dead', sentence: `another transaction used sequence number ${sequence} of its source account` };
  }
  if (maxTimeS === null || latestCloseTimeS < maxTimeS) return { kind: 'open' };
  // Unused when the account was read, and in none of the ledgers since.
  const isUnused = account !== null && account.sequence < sequence && oldestLedger <= account.ledger + 1n;
  if (!hasAllLedgers && !isUnused) return { kind: 'unknown' };
  return { kind: 'dead', sentence: 'its time bounds have passed and no ledger contains it' };
}

function commonView(a: NodeView, b: NodeView): NodeView {
  return {
    found: null,
    latestLedger: a.latestLedger < b.latestLedger ? a.latestLedger : b.latestLedger,
    latestCloseTimeS: a.latestCloseTimeS < b.latestCloseTimeS ? a.latestCloseTimeS : b.latestCloseTimeS,
    oldestLedger: a.oldestLedger > b.oldestLedger ? a.oldestLedger : b.oldestLedger,
  };
}
