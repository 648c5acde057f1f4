import type { xdr } from '@stellar/stellar-sdk';

/** An additional signer of an account. */
export interface AccountSigner {
  /** G... */
  readonly key: string;
  readonly weight: number;
}

/** The required weights by threshold level. */
export interface Thresholds {
  readonly low: number;
  readonly medium: number;
  readonly high: number;
}

/** An account in a ledger. Immutable: a change replaces it. */
export interface Account {
  /** G... */
  readonly id: string;
  readonly balanceStroops: bigint;
  /** The last used sequence number. */
  readonly sequence: bigint;
  /** The close time and number of the ledger that last changed the sequence number (CAP-21). */
  readonly sequenceTimeSeconds: bigint;
  readonly sequenceLedger: number;
  readonly subEntries: number;
  /** The reserves that it pays for entries of others, and that others pay for its own. */
  readonly sponsoring: number;
  readonly sponsored: number;
  /** Bits of `accountFlag`. */
  readonly flags: number;
  readonly homeDomain: string;
  /** What its offers sell and buy of its lumens at most. */
  readonly selling: bigint;
  readonly buying: bigint;
  readonly masterWeight: number;
  readonly thresholds: Thresholds;
  readonly signers: readonly AccountSigner[];
  readonly modifiedAt: number;
}

/** The flags of accounts (AccountFlags). */
export const accountFlag = { required: 1, revocable: 2, immutable: 4, clawbackEnabled: 8 } as const;

/** The flags of trustlines (TrustLineFlags). */
export const lineFlag = { authorized: 1, maintainsLiabilities: 2, clawbackEnabled: 4 } as const;

/** A trustline. */
export interface Trustline {
  readonly account: string;
  readonly asset: xdr.Asset;
  readonly balance: bigint;
  readonly limit: bigint;
  /** What the account's offers sell and buy of the asset at most. */
  readonly selling: bigint;
  readonly buying: bigint;
  /** Bits of `lineFlag`. */
  readonly flags: number;
  readonly modifiedAt: number;
}

/** A named value of an account. */
export interface DataEntry {
  readonly account: string;
  readonly name: string;
  readonly value: Uint8Array;
  readonly modifiedAt: number;
}

/** An amount that claimants can claim. */
export interface ClaimableBalance {
  readonly id: xdr.ClaimableBalanceId;
  readonly asset: xdr.Asset;
  readonly amount: bigint;
  readonly claimants: readonly { readonly account: string; readonly predicate: xdr.ClaimPredicate }[];
  readonly canBeClawedBack: boolean;
  readonly modifiedAt: number;
}

/** An offer of the order book. */
export interface Offer {
  readonly id: bigint;
  /** G... */
  readonly seller: string;
  readonly selling: xdr.Asset;
  readonly buying: xdr.Asset;
  /** Of the asset that it sells. */
  readonly amount: bigint;
  /** Of the sold asset in the bought one. */
  readonly price: { readonly n: bigint; readonly d: bigint };
  /** It does not take an offer of the same price. */
  readonly isPassive: boolean;
  readonly modifiedAt: number;
}

/** A pool of two assets with a constant product. */
export interface LiquidityPool {
  /** Lower-case hex. */
  readonly id: string;
  /** In the order of the protocol. */
  readonly assets: readonly [a: xdr.Asset, b: xdr.Asset];
  readonly reserves: readonly [a: bigint, b: bigint];
  readonly shares: bigint;
  readonly modifiedAt: number;
}

/** A line for the shares of a pool. */
export interface PoolShares {
  readonly account: string;
  readonly poolId: string;
  readonly balance: bigint;
  readonly limit: bigint;
  readonly modifiedAt: number;
}

/** A contract entry: instance, code or data. */
export interface ContractEntry {
  readonly data: xdr.LedgerEntryData;
  readonly liveUntil: number;
  readonly modifiedAt: number;
}

/** The state of a ledger. Closing a ledger changes a copy; states of closed ledgers stay unchanged. */
export interface LedgerState {
  readonly accounts: Map<string, Account>;
  /** By `trustlineKey`. */
  readonly trustlines: Map<string, Trustline>;
  /** By `dataKey`. */
  readonly data: Map<string, DataEntry>;
  /** By id, XDR as hex. */
  readonly balances: Map<string, ClaimableBalance>;
  /** By id. */
  readonly offers: Map<string, Offer>;
  /** By id. */
  readonly pools: Map<string, LiquidityPool>;
  /** By `poolSharesKey`. */
  readonly poolShares: Map<string, PoolShares>;
  /** The last id of each kind of entry that has numbers (`idPool`). */
  readonly lastIds: Map<'offer', bigint>;
  /** Who pays the reserves of an entry, if not its owner, by the entry's name (reserves.ts). */
  readonly sponsors: Map<string, string>;
  /** Who pays, until the end of the transaction, the reserves of what an account makes, by that account. */
  readonly futureSponsors: Map<string, string>;
  /** By ledger key, XDR as base64. */
  readonly contracts: Map<string, ContractEntry>;
}

/** The parameters of a ledger that is being made. */
export interface Header {
  /** The number of the ledger. */
  readonly sequence: number;
  readonly closeTimeSeconds: bigint;
  readonly baseFeeStroops: bigint;
  readonly baseReserveStroops: bigint;
}

/** Returns a copy that can change independently. */
export function copyOf(state: LedgerState): LedgerState {
  return {
    accounts: new Map(state.accounts),
    trustlines: new Map(state.trustlines),
    data: new Map(state.data),
    balances: new Map(state.balances),
    offers: new Map(state.offers),
    pools: new Map(state.pools),
    poolShares: new Map(state.poolShares),
    lastIds: new Map(state.lastIds),
    sponsors: new Map(state.sponsors),
    futureSponsors: new Map(state.futureSponsors),
    contracts: new Map(state.contracts),
  };
}

/** Adopts the changes of a copy. */
export function adopt(state: LedgerState, changed: LedgerState): void {
  for (const name of [
    'accounts',
    'trustlines',
    'data',
    'balances',
    'offers',
    'pools',
    'poolShares',
    'lastIds',
    'sponsors',
    'futureSponsors',
    'contracts',
  ] as const) {
    const target: Map<string, unknown> = state[name];
    target.clear();
    for (const [key, value] of changed[name]) target.set(key, value);
  }
}

/**
 * Creates an account like `CreateAccountOpFrame::doApply`: its sequence number starts at the ledger number times 2^32, so none is used
 * twice.
 */
export function newAccount(id: string, balanceStroops: bigint, header: Pick<Header, 'sequence'>): Account {
  return {
    id,
    balanceStroops,
    sequence: startingSequence(header.sequence),
    sequenceTimeSeconds: 0n,
    sequenceLedger: 0,
    subEntries: 0,
    sponsoring: 0,
    sponsored: 0,
    flags: 0,
    homeDomain: '',
    selling: 0n,
    buying: 0n,
    masterWeight: 1,
    thresholds: { low: 0, medium: 0, high: 0 },
    signers: [],
    modifiedAt: header.sequence,
  };
}

/** Returns the initial sequence number of accounts created in this ledger (`getStartingSequenceNumber`, TransactionUtils.cpp). */
export function startingSequence(ledger: number): bigint {
  return BigInt(ledger) << 32n;
}

/** Returns the reserve of an account: two base reserves, one per entry, and what sponsorships add or take (`getMinBalance`). */
function reserveStroops(account: Account, header: Header): bigint {
  return BigInt(2 + account.subEntries + account.sponsoring - account.sponsored) * header.baseReserveStroops;
}

/** Returns the spendable balance, negative below the reserve (`getAvailableBalance`). */
export function availableStroops(account: Account, header: Header): bigint {
  return account.balanceStroops - reserveStroops(account, header) - account.selling;
}

/** Returns the key of a trustline. */
export function trustlineKey(account: string, asset: xdr.Asset): string {
  return `${account}:${asset.toXdr('base64')}`;
}

/** Returns the key of a line for the shares of a pool. */
export function poolSharesKey(account: string, poolId: string): string {
  return `${account}:pool ${poolId}`;
}

/** Returns the key of a named value. */
export function dataKey(account: string, name: string): string {
  return `${account}:${name}`;
}

/** Returns the state of a ledger without entries. */
export function emptyState(): LedgerState {
  return {
    accounts: new Map(),
    trustlines: new Map(),
    data: new Map(),
    balances: new Map(),
    offers: new Map(),
    pools: new Map(),
    poolShares: new Map(),
    lastIds: new Map(),
    sponsors: new Map(),
    futureSponsors: new Map(),
    contracts: new Map(),
  };
}
