import { min } from '../records/bigints.js';
import type { Relayer } from '../records/relayer.js';
import type { DurationClock } from '../work/clock.js';

/** The balance of an account, and how fast it is spent. Amounts are in the network's smallest unit. */
export interface Funds {
  /** As it was read last; null: it was not read yet. */
  readonly balance: bigint | null;
  /** The sum of all decreases that were seen in the last 24 hours; null: the account is known for less than 10 minutes. */
  readonly spentLastDay: bigint | null;
  /** For how long the balance lasts at that rate; null: unknown, or nothing was spent. */
  readonly lastsMs: number | null;
}

/** A relayer, as far as it says whose funds these are. */
export type AccountHolder = Pick<Relayer, 'id' | 'address' | 'network'>;

/** Tells whether both use one account. A relayer that was deleted may come back with the same id and another account. */
export function isSameAccount(one: AccountHolder, other: AccountHolder): boolean {
  return one.address === other.address && one.network.name === other.network.name && one.network.type === other.network.type;
}

/** The funds of many accounts, as this instance saw them since it began to read their balances. */
export interface AccountFunds {
  /** The same object until something in it changes. */
  of(relayer: AccountHolder): Funds;
  /** Takes a balance that was read. */
  take(relayer: AccountHolder, balance: bigint): void;
  /** Forgets all others. */
  keepOnly(isKept: (relayerId: string) => boolean): void;
}

const hourMs = 3_600_000;
const hoursKept = 24;
/** A rate over a shorter time says little. */
const leastSeenMs = 600_000;
/** A longer duration does not fit into a message, and says no more. */
const longestMs = 10n ** 13n;

const unknown: Funds = { balance: null, spentLastDay: null, lastsMs: null };

function isSame(one: Funds, other: Funds): boolean {
  return one.balance === other.balance && one.spentLastDay === other.spentLastDay && one.lastsMs === other.lastsMs;
}

interface Account {
  readonly holder: AccountHolder;
  readonly sinceMs: number;
  funds: Funds;
  /** The decreases in each hour of the monotonic clock, oldest first. */
  hours: { readonly hour: number; spent: bigint }[];
}

/** Creates the funds of no account. */
export function createAccountFunds(clock: Pick<DurationClock, 'elapsedMs'>): AccountFunds {
  const accounts = new Map<string, Account>();

  function noteSpent(account: Account, spent: bigint, hour: number): void {
    account.hours = account.hours.filter((one) => one.hour > hour - hoursKept);
    const last = account.hours.at(-1);
    if (last?.hour === hour) last.spent += spent;
    else if (spent > 0n) account.hours.push({ hour, spent });
  }

  function accountOf(holder: AccountHolder): Account | undefined {
    const account = accounts.get(holder.id);
    return account !== undefined && isSameAccount(account.holder, holder) ? account : undefined;
  }

  return {
    of: (relayer) => accountOf(relayer)?.funds ?? unknown,
    take(relayer, balance) {
      const nowMs = clock.elapsedMs();
      const hour = Math.floor(nowMs / hourMs);
      const account = accountOf(relayer) ?? { holder: relayer, sinceMs: nowMs, funds: unknown, hours: [] };
      accounts.set(relayer.id, account);
      const before = account.funds.balance ?? balance;
      noteSpent(account, before > balance ? before - balance : 0n, hour);
      const seenMs = Math.min(nowMs - account.sinceMs, nowMs - (hour - hoursKept + 1) * hourMs);
      const spentLastDay = nowMs - account.sinceMs < leastSeenMs ? null : account.hours.reduce((sum, { spent }) => sum + spent, 0n);
      const lastsMs = spentLastDay === null || spentLastDay === 0n ? null : (balance * BigInt(Math.floor(seenMs))) / spentLastDay;
      const funds = { balance, spentLastDay, lastsMs: lastsMs === null ? null : Number(min(lastsMs, longestMs)) };
      if (!isSame(account.funds, funds)) account.funds = funds;
    },
    keepOnly(isKept) {
      for (const relayerId of accounts.keys()) if (!isKept(relayerId)) accounts.delete(relayerId);
    },
  };
}
