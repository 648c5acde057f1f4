import { xdr } from '@stellar/stellar-sdk';
import { listFrom, objectFrom } from '../rpc/answer.js';
import { MalformedAnswerError } from '../rpc/node-error.js';
import { accountIdFrom, addressFromPublicKey } from './address.js';
import { integerFrom, xdrFrom } from './answer.js';

/** How much the signatures of an operation must weigh. */
export type Level = 'low' | 'medium' | 'high';

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
  /** The other keys that sign for it, as `G...`. */
  readonly signers: readonly string[];
  /** What signatures must weigh: at least `low` for every transaction and fee bump, and what its operations need. */
  readonly thresholds: Readonly<Record<Level, number>>;
  /** The ledger of this state. */
  readonly ledger: bigint;
}

/** An account that must be paid with a memo, such as one that an exchange shares among its customers, has this entry (SEP-29). */
const memoEntryName = 'config.memo_required';
const isRequired = Buffer.from('1');

/** The ledger key of an account (`G...`), base64 XDR. */
export function accountKey(address: string): string {
  return xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId: accountIdFrom(address) })).toXdr('base64');
}

/** The ledger key of the entry with which an account requires a memo, base64 XDR. */
export function memoRequirementKey(address: string): string {
  return xdr.LedgerKey.data(new xdr.LedgerKeyData({ accountId: accountIdFrom(address), dataName: memoEntryName })).toXdr('base64');
}

/** The ledger key of a trust line, base64 XDR. */
export function trustLineKey({ account, asset }: TrustLineId): string {
  const key = new xdr.LedgerKeyTrustLine({ accountId: accountIdFrom(account), asset: xdr.TrustLineAsset.fromXdr(asset, 'base64') });
  return xdr.LedgerKey.trustline(key).toXdr('base64');
}

/** Names a trust line. */
export interface TrustLineId {
  /** `G...` */
  readonly account: string;
  /** Base64 XDR. */
  readonly asset: string;
}

/** Reads which of these trust lines exist, as their ledger keys. Throws `MalformedAnswerError`, also for one that was not asked for. */
export function trustLinesFrom(answer: unknown, asked: readonly TrustLineId[]): ReadonlySet<string> {
  const keys = new Set(asked.map(trustLineKey));
  const found = entriesFrom(answer).entries.map((entry) => {
    if (entry.type !== 'trustline') throw new MalformedAnswerError('trust line');
    const { accountId, asset } = entry.trustLine;
    return xdr.LedgerKey.trustline(new xdr.LedgerKeyTrustLine({ accountId, asset })).toXdr('base64');
  });
  if (found.some((key) => !keys.has(key))) throw new MalformedAnswerError('trust line: not a requested one');
  return new Set(found);
}

/** Reads accounts by their addresses. Throws `MalformedAnswerError`, also for one that was not asked for. */
export function accountsFrom(answer: unknown, addresses: readonly string[]): ReadonlyMap<string, Account> {
  const asked = new Set(addresses);
  const { entries, ledger } = entriesFrom(answer);
  return new Map(
    entries.map((entry) => {
      if (entry.type !== 'account') throw new MalformedAnswerError('account');
      const address = addressFromPublicKey(entry.account.accountId.ed25519.value);
      if (!asked.delete(address)) throw new MalformedAnswerError('account: not the requested one');
      return [address, accountFrom(entry.account, ledger)];
    }),
  );
}

/** Reads the first account that requires a memo; null if none does. Throws `MalformedAnswerError`, also for one that was not asked for. */
export function requiringMemoFrom(answer: unknown, accounts: readonly string[]): string | null {
  for (const entry of entriesFrom(answer).entries) {
    if (entry.type !== 'data') throw new MalformedAnswerError('data entry');
    const account = addressFromPublicKey(entry.data.accountId.ed25519.value);
    if (!accounts.includes(account)) throw new MalformedAnswerError('data entry: not of a requested account');
    if (isRequired.equals(entry.data.dataValue.value)) return account;
  }
  return null;
}

function entriesFrom(answer: unknown): { readonly entries: readonly xdr.LedgerEntryData[]; readonly ledger: bigint } {
  const { entries, latestLedger } = objectFrom(answer, 'ledger entries');
  return {
    ledger: integerFrom(latestLedger, 'latest ledger'),
    // Some nodes report an empty list as null.
    entries: listFrom(entries ?? [], 'ledger entries').map((one) =>
      xdrFrom(xdr.LedgerEntryData, objectFrom(one, 'ledger entry').xdr, 'ledger entry'),
    ),
  };
}

function accountFrom(entry: xdr.AccountEntry, ledger: bigint): Account {
  const v1 = entry.ext.type === 'v1' ? entry.ext.v1 : null;
  const v2 = v1?.ext.type === 'v2' ? v1.ext.v2 : null;
  const v3 = v2?.ext.type === 'v3' ? v2.ext.v3 : null;
  const reservedEntries = 2 + entry.numSubEntries + (v2?.numSponsoring ?? 0) - (v2?.numSponsored ?? 0);
  const [keyWeight = 0, low = 0, medium = 0, high = 0] = entry.thresholds.value;
  return {
    keyWeight,
    signers: entry.signers.flatMap(({ key }) => (key.type === 'signerKeyTypeEd25519' ? addressFromPublicKey(key.ed25519.value) : [])),
    thresholds: { low, medium, high },
    sequence: entry.seqNum,
    sequenceLedger: v3 === null ? null : BigInt(v3.seqLedger),
    balanceStroops: entry.balance,
    reservedEntries: BigInt(reservedEntries),
    sellingLiabilitiesStroops: v1?.liabilities.selling ?? 0n,
    ledger,
  };
}
