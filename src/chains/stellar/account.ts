import type { xdr } from '@stellar/stellar-sdk';
import type { CallOptions } from '../rpc/call-router.js';
import type { Rpc } from '../rpc/rpc.js';
import { changeBy } from './account-changes.js';
import type { LedgerRules } from './fee-rules.js';
import { maxEntries, questions } from './questions.js';
import type { Account, Level } from './read-entries.js';

/** Reads an account (`G...`), by default from the node that reported the head; null if it does not exist. Throws `NODE_UNAVAILABLE`. */
export async function readAccount(rpc: Rpc, address: string, options?: CallOptions): Promise<Account | null> {
  return (await readAccounts(rpc, [address], options)).get(address) ?? null;
}

/** Reads accounts in as few calls as possible, each once; missing accounts are left out. Throws `NODE_UNAVAILABLE`. */
export async function readAccounts(rpc: Rpc, addresses: readonly string[], options?: CallOptions): Promise<ReadonlyMap<string, Account>> {
  const accounts = new Map<string, Account>();
  for (let start = 0; start < addresses.length; start += maxEntries)
    for (const [address, account] of await rpc.ask(
      questions.accounts(addresses.slice(start, start + maxEntries), rpc.newestNumber()),
      options,
    ))
      accounts.set(address, account);
  return accounts;
}

/** Returns the amount that the account cannot spend: its reserve and its selling liabilities. */
export function lockedOf({ reservedEntries, sellingLiabilitiesStroops }: Account, { baseReserveStroops }: LedgerRules): bigint {
  return reservedEntries * baseReserveStroops + sellingLiabilitiesStroops;
}

/** The operations that need the low threshold (`getThresholdLevel` of stellar-core). */
const lowOperations: readonly string[] = [
  'allowTrust',
  'bumpSequence',
  'claimClaimableBalance',
  'extendFootprintTtl',
  'inflation',
  'restoreFootprint',
  'setTrustLineFlags',
];

function levelOf(operation: xdr.Operation): Level {
  const change = changeBy(operation);
  if (change === 'signers' || change === 'account_merge') return 'high';
  return lowOperations.includes(operation.body.type) ? 'low' : 'medium';
}

/**
 * Returns why the account's own key does not suffice for a transaction with these operations; null if it does. Without operations: for a
 * fee bump, and so for anything at all.
 */
export function whyPowerless({ keyWeight, thresholds }: Account, operations: readonly xdr.Operation[]): string | null {
  const needed = Math.max(1, thresholds.low, ...operations.map((operation) => thresholds[levelOf(operation)]));
  if (keyWeight >= needed) return null;
  const what = operations.length === 0 ? 'transactions need' : 'this transaction needs';
  return `the relayer's key does not suffice for its account: it has the weight ${keyWeight}, and ${what} ${needed}; change the signers or thresholds of the account`;
}
