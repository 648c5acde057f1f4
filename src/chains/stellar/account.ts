import { xdr } from '@stellar/stellar-sdk';
import { listFrom, objectFrom } from '../rpc/answer.js';
import type { CallOptions } from '../rpc/call-router.js';
import { MalformedAnswerError } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { changeBy } from './account-changes.js';
import { accountIdFrom, addressFromPublicKey } from './address.js';
import { integerFrom, xdrFrom } from './answer.js';
import type { LedgerRules } from './fee-rules.js';

type Level = 'low' | 'medium' | 'high';

/** The state of an account at a ledger. */
export interface Account {
  /** The last sequence number that the account used. */
  readonly sequence: bigint;
  /** The ledger that used it; null if that was before ledgers recorded it (CAP-21). */
  readonly sequenceLedger: bigint | null;
  readonly balanceStroops: bigint;
  /** The ledger entries that the account keeps a reserve for. */
  readonly reservedEntries: bigint;
  /** The amount that its offers to sell reserve. */
  readonly sellingLiabilitiesStroops: bigint;
  /** The weight of the account's own key. */
  readonly keyWeight: number;
  /** What signatures must weigh: at least `low` for every transaction and fee bump, and what its operations need. */
  readonly thresholds: Readonly<Record<Level, number>>;
  /** The ledger of this state. */
  readonly ledger: bigint;
}

/** The maximum that nodes return per call. */
const maxKeys = 200;
const atHead: CallOptions = { first: 'head' };

/** Reads an account (`G...`), by default from the node that reported the head; null if it does not exist. Throws `NODE_UNAVAILABLE`. */
export async function readAccount(rpc: Rpc, address: string, options = atHead): Promise<Account | null> {
  return (await readAccounts(rpc, [address], options)).get(address) ?? null;
}

/** Reads accounts in as few calls as possible, each once; missing accounts are left out. Throws `NODE_UNAVAILABLE`. */
export async function readAccounts(
  rpc: Rpc,
  addresses: readonly string[],
  options: CallOptions = atHead,
): Promise<ReadonlyMap<string, Account>> {
  const accounts = new Map<string, Account>();
  for (let start = 0; start < addresses.length; start += maxKeys) {
    const asked = addresses.slice(start, start + maxKeys);
    const read = (answer: unknown) => accountsFrom(answer, new Set(asked));
    for (const [address, account] of await rpc.ask({ method: 'getLedgerEntries', params: { keys: asked.map(keyOf) }, read }, options))
      accounts.set(address, account);
  }
  return accounts;
}

function keyOf(address: string): string {
  return xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId: accountIdFrom(address) })).toXdr('base64');
}

function accountsFrom(answer: unknown, asked: Set<string>): readonly (readonly [string, Account])[] {
  const { entries, latestLedger } = objectFrom(answer, 'ledger entries');
  const ledger = integerFrom(latestLedger, 'latest ledger');
  // Some nodes report an empty list as null.
  return listFrom(entries ?? [], 'ledger entries').map((one) => {
    const data = xdrFrom(xdr.LedgerEntryData, objectFrom(one, 'ledger entry').xdr, 'ledger entry');
    if (data.type !== 'account') throw new MalformedAnswerError('account');
    const address = addressFromPublicKey(data.account.accountId.ed25519.value);
    if (!asked.delete(address)) throw new MalformedAnswerError('account: not the requested one');
    return [address, accountFrom(data.account, ledger)] as const;
  });
}

function accountFrom(entry: xdr.AccountEntry, ledger: bigint): Account {
  const v1 = entry.ext.type === 'v1' ? entry.ext.v1 : null;
  const v2 = v1?.ext.type === 'v2' ? v1.ext.v2 : null;
  const v3 = v2?.ext.type === 'v3' ? v2.ext.v3 : null;
  const reservedEntries = 2 + entry.numSubEntries + (v2?.numSponsoring ?? 0) - (v2?.numSponsored ?? 0);
  const [keyWeight = 0, low = 0, medium = 0, high = 0] = entry.thresholds.value;
  return {
    keyWeight,
    thresholds: { low, medium, high },
    sequence: entry.seqNum,
    sequenceLedger: v3 === null ? null : BigInt(v3.seqLedger),
    balanceStroops: entry.balance,
    reservedEntries: BigInt(reservedEntries),
    sellingLiabilitiesStroops: v1?.liabilities.selling ?? 0n,
    ledger,
  };
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
