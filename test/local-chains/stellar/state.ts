import type { xdr } from '@stellar/stellar-sdk';

/** Somebody else's key that may sign for an account. */
export interface AccountSigner {
  /** G... */
  readonly key: string;
  readonly weight: number;
}

/** What a signature must weigh, by the operation's level. */
export interface Thresholds {
  readonly low: number;
  readonly medium: number;
  readonly high: number;
}

/** An account as a ledger holds it. Never changed: a new one takes its place. */
export interface Account {
  /** G... */
  readonly id: string;
  readonly balanceStroops: bigint;
  /** The last sequence number that it used. */
  readonly sequence: bigint;
  /** Close time and number of the ledger in which the sequence number last changed (CAP-21). */
  readonly sequenceTimeSeconds: bigint;
  readonly sequenceLedger: number;
  readonly subEntries: number;
  readonly masterWeight: number;
  readonly thresholds: Thresholds;
  readonly signers: readonly AccountSigner[];
  readonly modifiedAt: number;
}

/** What an account holds of an issued asset; always authorized. */
export interface Trustline {
  readonly account: string;
  readonly asset: xdr.Asset;
  readonly balance: bigint;
  readonly limit: bigint;
  readonly modifiedAt: number;
}

/** An entry of a contract: its instance, its code or its data. */
export interface ContractEntry {
  readonly data: xdr.LedgerEntryData;
  readonly liveUntil: number;
  readonly modifiedAt: number;
}

/** All that a ledger holds. A copy is changed while a ledger closes; those of closed ledgers stay as they are. */
export interface LedgerState {
  readonly accounts: Map<string, Account>;
  /** By `trustlineKey`. */
  readonly trustlines: Map<string, Trustline>;
  /** By ledger key, XDR as base64. */
  readonly contracts: Map<string, ContractEntry>;
}

/** What the rules of a ledger in the making are applied with. */
export interface Header {
  /** Number of the ledger that is being made. */
  readonly sequence: number;
  readonly closeTimeSeconds: bigint;
  readonly baseFeeStroops: bigint;
  readonly baseReserveStroops: bigint;
}

/** A state that changes without changing this one. */
export function copyOf(state: LedgerState): LedgerState {
  return { accounts: new Map(state.accounts), trustlines: new Map(state.trustlines), contracts: new Map(state.contracts) };
}

/** Takes over what a copy has become. */
export function adopt(state: LedgerState, changed: LedgerState): void {
  for (const name of ['accounts', 'trustlines', 'contracts'] as const) {
    const target: Map<string, unknown> = state[name];
    target.clear();
    for (const [key, value] of changed[name]) target.set(key, value);
  }
}

/** An account as `CreateAccountOpFrame::doApply` makes it: its first sequence number is the ledger's times 2^32, so that none is ever used twice. */
export function newAccount(id: string, balanceStroops: bigint, header: Pick<Header, 'sequence'>): Account {
  return {
    id,
    balanceStroops,
    sequence: startingSequence(header.sequence),
    sequenceTimeSeconds: 0n,
    sequenceLedger: 0,
    subEntries: 0,
    masterWeight: 1,
    thresholds: { low: 0, medium: 0, high: 0 },
    signers: [],
    modifiedAt: header.sequence,
  };
}

/** The sequence number that accounts made in this ledger begin with (`getStartingSequenceNumber`, TransactionUtils.cpp). */
export function startingSequence(ledger: number): bigint {
  return BigInt(ledger) << 32n;
}

/** What an account must keep: two base reserves, and one for each of its entries (`getMinBalance`, TransactionUtils.cpp). */
export function reserveStroops(account: Account, header: Header): bigint {
  return BigInt(2 + account.subEntries) * header.baseReserveStroops;
}

/** What an account may spend; below zero when the reserve is not there (`getAvailableBalance`). Offers, so liabilities, are not modelled. */
export function availableStroops(account: Account, header: Header): bigint {
  return account.balanceStroops - reserveStroops(account, header);
}

/** Where a trustline is found. */
export function trustlineKey(account: string, asset: xdr.Asset): string {
  return `${account}:${asset.toXDR('base64')}`;
}
