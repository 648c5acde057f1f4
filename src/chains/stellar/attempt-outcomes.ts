import { DomainError } from '../../core/errors.js';
import type { AttemptOutcome } from '../../core/ports/chain.js';
import { onNetwork } from '../../core/relayer/on-network.js';
import { type Attempt, hashesOf } from '../../core/transaction/transaction.js';
import type { First } from '../rpc/endpoint-selector.js';
import type { Rpc } from '../rpc/rpc.js';
import { type Account, readAccounts } from './account.js';
import { accountOf } from './address.js';
import { latestLedgerCall } from './dialect.js';
import { type NodeView, readTransactions, receiptFrom, withoutFee } from './receipts.js';

/**
 * Reads the outcomes of fee-bump envelopes around other accounts' transactions. Only those are looked up whose source account has used the sequence number, or
 * whose time bounds have passed: no other can have landed or died. An attempt that a node does not know is dead if a ledger closed after its time bounds,
 * or if its sequence number is used, and that node still has every ledger since the draft. If the node lacks some of them, the outcome is unknown, unless the
 * sequence number is provably unused. A second node is asked before either is believed. Throws `NODE_UNAVAILABLE`.
 */
export async function readOutcomes(
  rpc: Rpc,
  networkId: Buffer,
  attempts: readonly Attempt[],
): Promise<ReadonlyMap<string, AttemptOutcome>> {
  const believed = await readFrom(rpc, networkId, attempts, 'head');
  const doubtful = new Set(attempts.filter(({ hash }) => isLost(believed.get(hash))).map(sourceOf));
  // Attempts around the same inner transaction are distinguished only if all are asked for.
  const asked = attempts.filter((attempt) => doubtful.has(sourceOf(attempt)));
  // If no other node answers now, the first one's complete ledgers have to do.
  const second = await readFrom(rpc, networkId, asked, 'another').catch((error: unknown) => {
    if (error instanceof DomainError && error.reason === 'NODE_UNAVAILABLE') return new Map<string, AttemptOutcome>();
    throw error;
  });
  return new Map([...believed].map(([hash, outcome]) => [hash, isLost(outcome) ? combined(outcome, second.get(hash)) : outcome]));
}

function isLost(outcome: AttemptOutcome | undefined): boolean {
  return outcome?.kind === 'dead' || outcome?.kind === 'unknown';
}

/** A node that has the attempt in a ledger, or does not see its end, contradicts one that does; a node with all ledgers knows more than one without. */
function combined(lost: AttemptOutcome, second: AttemptOutcome | undefined): AttemptOutcome {
  if (second === undefined) return lost;
  return !isLost(second) || (lost.kind === 'unknown' && second.kind === 'dead') ? second : lost;
}

async function readFrom(
  rpc: Rpc,
  networkId: Buffer,
  attempts: readonly Attempt[],
  by: First,
): Promise<ReadonlyMap<string, AttemptOutcome>> {
  // Accounts come first: a node at the same ledger or later must know the transactions that used their sequence numbers.
  const accounts = await readAccounts(rpc, [...new Set(attempts.map(sourceOf))], by);
  const isBounded = attempts.some(({ fields }) => onNetwork('stellar', fields).maxTimeS !== null);
  const closeTimeMs = isBounded ? await readCloseTimeMs(rpc, by) : 0;
  const accountOfAttempt = (attempt: Attempt): Account | null => accounts.get(sourceOf(attempt)) ?? null;
  const due = attempts.filter((attempt) => mayHaveEnded(attempt, accountOfAttempt(attempt), closeTimeMs));
  const views = await readTransactions(rpc, networkId, due.flatMap(hashesOf), by);
  const outcomes = new Map<string, AttemptOutcome>(attempts.map(({ hash }) => [hash, { kind: 'open' }]));
  for (const attempt of due) outcomes.set(attempt.hash, outcomeOf(attempt, views, accountOfAttempt(attempt)));
  return outcomes;
}

async function readCloseTimeMs(rpc: Rpc, by: First): Promise<number> {
  const { method, params, read } = latestLedgerCall;
  return (await rpc.ask(method, params, read, { first: by })).timestampMs ?? Date.now();
}

function mayHaveEnded({ fields }: Attempt, account: Account | null, closeTimeMs: number): boolean {
  const { maxTimeS, sequence } = onNetwork('stellar', fields);
  return account === null || account.sequence >= sequence || (maxTimeS !== null && maxTimeS * 1000n <= BigInt(closeTimeMs));
}

function sourceOf({ fields }: Attempt): string {
  return accountOf(onNetwork('stellar', fields).sourceAccount) ?? '';
}

/** An account that no longer exists has no use for the number: if it is created again, it begins above it. */
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
  const isUsed = account === null || (account.sequence >= sequence && latestLedger >= account.ledger);
  if (isUsed) {
    if (!hasAllLedgers) return { kind: 'unknown' };
    const sentence = account === null ? 'its source account no longer exists' : usedByAnother(sequence);
    return { kind: 'dead', sentence };
  }
  if (maxTimeS === null || latestCloseTimeS < maxTimeS) return { kind: 'open' };
  // Unused when the account was read, and in none of the ledgers since.
  const isUnused = account.sequence < sequence && oldestLedger <= account.ledger + 1n;
  if (!hasAllLedgers && !isUnused) return { kind: 'unknown' };
  return { kind: 'dead', sentence: 'its time bounds have passed and no ledger contains it' };
}

function usedByAnother(sequence: bigint): string {
  return `another transaction used sequence number ${sequence} of its source account`;
}

function commonView(a: NodeView, b: NodeView): NodeView {
  return {
    found: null,
    latestLedger: a.latestLedger < b.latestLedger ? a.latestLedger : b.latestLedger,
    latestCloseTimeS: a.latestCloseTimeS < b.latestCloseTimeS ? a.latestCloseTimeS : b.latestCloseTimeS,
    oldestLedger: a.oldestLedger > b.oldestLedger ? a.oldestLedger : b.oldestLedger,
  };
}
