import { availableStroops } from '../state.js';
import type { OperationContext } from './operation.js';

/** An entry that needs reserves. */
export interface Reserved {
  /** Unique among all entries, such as `offer 7`. */
  readonly name: string;
  /** The account of the entry, G...; null: a claimable balance, whose sponsor alone pays. */
  readonly owner: string | null;
  /** The number of base reserves. */
  readonly count: number;
}

/** Returns an entry of an account that counts among its subentries, once for each of its reserves. */
export function subEntry(name: string, owner: string, count = 1): Reserved {
  return { name, owner, count };
}

/** Returns a line for the shares of a pool, by its key. */
export function poolSharesEntry(key: string, owner: string): Reserved {
  return subEntry(`line ${key}`, owner, 2);
}

/** Returns the entry of an account itself. */
export function accountEntry(owner: string): Reserved {
  return { name: `account ${owner}`, owner, count: 2 };
}

/** True if the account can pay this many more base reserves. */
function canReserve({ state, header }: OperationContext, id: string, count: number): boolean {
  const account = state.accounts.get(id);
  return account !== undefined && availableStroops(account, header) >= BigInt(count) * header.baseReserveStroops;
}

/** Changes who pays the reserves of an entry (CAP-33); null: its owner. */
function change(context: OperationContext, { name, owner, count }: Reserved, from: string | null, to: string | null): void {
  const { state, header } = context;
  const add = (id: string | null, field: 'sponsoring' | 'sponsored', by: number): void => {
    const account = id === null ? undefined : state.accounts.get(id);
    if (account !== undefined) state.accounts.set(account.id, { ...account, [field]: account[field] + by, modifiedAt: header.sequence });
  };
  if (from !== null) {
    add(from, 'sponsoring', -count);
    add(owner, 'sponsored', -count);
  }
  if (to !== null) {
    add(to, 'sponsoring', count);
    add(owner, 'sponsored', count);
  }
  if (to === null) state.sponsors.delete(name);
  else state.sponsors.set(name, to);
}

/** Returns the account that pays the reserves of what this account makes now; null: itself. */
export function sponsorOf({ state }: OperationContext, owner: string): string | null {
  return state.futureSponsors.get(owner) ?? null;
}

/** Takes the reserves of a new entry (`createEntryWithPossibleSponsorship`). Returns false if who must pay cannot. */
export function reserve(context: OperationContext, entry: Reserved, sponsor: string | null): boolean {
  const payer = sponsor ?? entry.owner;
  // A new account pays its own reserve with its starting balance, which is checked by its operation.
  const isNewAccount = sponsor === null && entry.name === accountEntry(entry.owner ?? '').name;
  if (payer === null || (!isNewAccount && !canReserve(context, payer, entry.count))) return false;
  change(context, entry, null, sponsor);
  return true;
}

/** Gives the reserves of an entry back (`removeEntryWithPossibleSponsorship`). */
export function release(context: OperationContext, entry: Reserved): void {
  change(context, entry, context.state.sponsors.get(entry.name) ?? null, null);
}

/** Hands the reserves of an entry on to another sponsor; null: to its owner. Returns false if who must pay cannot. */
export function handOn(context: OperationContext, entry: Reserved, sponsor: string | null): boolean {
  const payer = sponsor ?? entry.owner;
  if (payer === null || !canReserve(context, payer, entry.count)) return false;
  change(context, entry, context.state.sponsors.get(entry.name) ?? null, sponsor);
  return true;
}

/** Adds an entry to an account (see `reserve`). Returns false if who must pay its reserve cannot. */
export function addSubEntry(context: OperationContext, name: string, owner: string): boolean {
  return addEntry(context, subEntry(name, owner), owner);
}

/** Adds a subentry of any number of reserves. */
export function addEntry(context: OperationContext, entry: Reserved, owner: string): boolean {
  if (!reserve(context, entry, sponsorOf(context, owner))) return false;
  count(context, owner, entry.count);
  return true;
}

/** Removes an entry from an account. */
export function removeSubEntry(context: OperationContext, name: string, owner: string): void {
  removeEntry(context, subEntry(name, owner), owner);
}

/** Removes a subentry of any number of reserves. */
export function removeEntry(context: OperationContext, entry: Reserved, owner: string): void {
  release(context, entry);
  count(context, owner, -entry.count);
}

function count({ state, header }: OperationContext, id: string, by: number): void {
  const account = state.accounts.get(id);
  if (account !== undefined) state.accounts.set(id, { ...account, subEntries: account.subEntries + by, modifiedAt: header.sequence });
}
