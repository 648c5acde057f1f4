import { DomainError } from '../errors/errors.js';
import { type Change, ConflictError } from '../ports/store/change.js';
import type { ReservedSpend, SpendingChanges, SpendingReads, StoredSpendWindow } from '../ports/store/spending.js';
import type { StoreFor } from '../ports/store/store.js';
import type { Ids } from '../records/ids.js';
import type { Spend } from '../records/judgement.js';
import type { Clock } from '../work/clock.js';
import { decideAgain } from '../work/decide-again.js';
import { emptyWindow, grant, reserve, type WindowTimes, withoutFuture } from './spend-window.js';

/*
 * Reserves what transactions spend in the commit that accepts them, so that no number of callers, instances or retries passes a limit.
 * Each window is a row that is guarded by its version: of two commits that counted from the same version, one fails and counts again.
 * Within an instance, commits do not wait for each other: each counts from what those before it will have stored.
 */

/** Reserves amounts against limits. */
export interface SpendLedger {
  /**
   * Calls `commit` with the changes that reserve what transactions spend; it commits them with its own. Again with others if another
   * commit was faster. Throws what `commit` throws, and, if nothing was reserved, `forbidden`: SPEND_LIMIT_EXCEEDED, or POLICY_DENIED if a
   * limit is below the amounts. `named`: names the transaction that passes the limit.
   */
  withReserved<T>(relayerId: string, spends: EachSpends, commit: (reserved: ReservedCommit) => Promise<T>, named?: Named): Promise<T>;
  /** Throws `forbidden` as `withReserved` does. Reserves nothing. */
  requireRoom(relayerId: string, spends: readonly Spend[]): Promise<void>;
}

/** Says which transaction an error is about. */
type Named = (error: DomainError, index: number) => DomainError;

/** What each of some transactions spends. */
type EachSpends = readonly (readonly Spend[])[];

/** What a commit reserves, for each of its transactions. */
export interface ReservedCommit {
  readonly changes: readonly Change[];
  readonly reserved: readonly (readonly ReservedSpend[])[];
}

/** A window and its version; null: none is stored. */
type CountedWindow = Omit<StoredSpendWindow, 'version'> & { readonly version: string | null };

/** A window in memory. */
interface HeldWindow {
  /** As it will be stored once all commits under way have succeeded. */
  next: CountedWindow;
  /** The commits under way that count on it. */
  readonly underWay: Set<Promise<unknown>>;
}

/** The windows after some spends. */
interface Counted {
  readonly refused: null;
  readonly after: ReadonlyMap<string, CountedWindow>;
}

/** What a window has no room for: all its spends together. */
interface Refused {
  readonly refused: Spend;
  readonly left: bigint;
  readonly roomAtMs: number | null;
  readonly nowMs: number;
}

/** The times of the newest blocks, in milliseconds since the epoch. */
export interface BlockTimes {
  /** The time on the network of this relayer; null: none was seen yet. */
  ofRelayer(relayerId: string): number | null;
}

/** The dependencies of the ledger. */
export interface SpendLedgerDeps {
  readonly store: StoreFor<SpendingReads, SpendingChanges>;
  /** The time that all instances agree on: a clock that is ahead would end windows too early. */
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly blockTimes: BlockTimes;
  readonly ids: Pick<Ids, 'random'>;
}

/** Creates a ledger that holds no window. */
export function createSpendLedger({ store, clock, blockTimes, ids }: SpendLedgerDeps): SpendLedger {
  const held = new Map<string, HeldWindow>();
  const keyOf = (relayerId: string, name: string): string => `${relayerId}/${name}`;

  /** Reads the windows of these spends that no commit under way counts on. */
  async function stored(relayerId: string, spends: readonly Spend[]): Promise<ReadonlyMap<string, CountedWindow>> {
    const limits = new Map(spends.flatMap(({ window, limit }) => (held.has(keyOf(relayerId, window)) ? [] : [[window, limit] as const])));
    const found = await store.read.spendWindows(relayerId, [...limits.keys()]);
    return new Map<string, CountedWindow>([
      ...[...limits].map(([name, { windowMs }]) => [name, { relayerId, name, version: null, window: emptyWindow(windowMs) }] as const),
      ...found.map((one) => [one.name, one] as const),
    ]);
  }

  /** The windows after these spends; or the first window that has no room for its spends together. Null: one of them must be read. */
  function counted(relayerId: string, spends: readonly Spend[], windows: ReadonlyMap<string, CountedWindow>): Counted | Refused | null {
    const times: WindowTimes = { nowMs: clock.nowMs(), blockMs: blockTimes.ofRelayer(relayerId) };
    const { nowMs } = times;
    const totals = new Map<string, Spend>();
    for (const spend of spends) {
      const amount = (totals.get(spend.window)?.amount ?? 0n) + spend.amount;
      totals.set(spend.window, { ...spend, amount });
    }
    const after = new Map<string, CountedWindow>();
    for (const total of totals.values()) {
      // A commit that began meanwhile counts, too. One that was under way and has ended is in the store.
      const before = held.get(keyOf(relayerId, total.window))?.next ?? windows.get(total.window);
      if (before === undefined) return null;
      requireNear(relayerId, total, nowMs);
      const { amount, until } = total;
      const found =
        until === undefined
          ? reserve(before.window, total.limit, amount, times)
          : grant(before.window, total.limit, { amount, untilMs: until.ms }, times);
      if (found.window === null) return { refused: total, left: found.left, roomAtMs: found.roomAtMs, nowMs };
      after.set(total.window, { ...before, window: found.window });
    }
    return { refused: null, after };
  }

  /** Stores windows in which a clock that was ahead has dated amounts: each look would give them a new date, so they would never leave. */
  async function storeWithoutFuture(relayerId: string, spends: readonly Spend[]): Promise<void> {
    for (const before of (await stored(relayerId, spends)).values()) {
      const window = withoutFuture(before.window, clock.nowMs());
      if (window !== before.window)
        await store.commit([store.change.storeSpendWindow({ ...before, window, version: ids.random() }, before.version)]);
    }
  }

  /** Calls `use` with the windows after these spends. Throws if they have no room, also if each commit under way fails. */
  async function withRoom<T>(relayerId: string, each: EachSpends, use: (found: Counted) => T | Promise<T>, named: Named): Promise<T> {
    const spends = each.flat();
    for (;;) {
      const found = counted(relayerId, spends, await stored(relayerId, spends));
      if (found === null) continue;
      if (found.refused === null) return use(found);
      const underWay = [...(held.get(keyOf(relayerId, found.refused.window))?.underWay ?? [])];
      // What another commit reserves may never be stored, and then there is room.
      if (underWay.length === 0) throw limitExceeded(relayerId, each, found, named);
      await Promise.allSettled(underWay);
    }
  }

  async function commitCounted<T>(
    relayerId: string,
    { after }: Counted,
    commit: (changes: ReservedCommit['changes']) => Promise<T>,
  ): Promise<T> {
    const windows = [...after.values()].map((one) => ({ ...one, version: ids.random() }));
    const changes = windows.map((one) => store.change.storeSpendWindow(one, after.get(one.name)?.version ?? null));
    const committed = commit(changes);
    const holders = windows.map((next) => {
      const key = keyOf(relayerId, next.name);
      const holder = held.get(key) ?? { next, underWay: new Set() };
      held.set(key, holder);
      holder.next = next;
      holder.underWay.add(committed);
      return { key, holder };
    });
    const forget = (): void => {
      for (const { key, holder } of holders) if (held.get(key) === holder) held.delete(key);
    };
    try {
      return await committed;
    } catch (error) {
      // It is not known whether it was stored, or it was not: who counted on it counts again.
      forget();
      throw error;
    } finally {
      for (const { key, holder } of holders) {
        holder.underWay.delete(committed);
        // Another instance may change it from now on.
        if (holder.underWay.size === 0 && held.get(key) === holder) held.delete(key);
      }
    }
  }

  return {
    withReserved(relayerId, each, commit, named = (error) => error) {
      const reserved = each.map((spends) => spends.map(reservedOf));
      const use = (found: Counted) => commitCounted(relayerId, found, (changes) => commit({ changes, reserved }));
      return decideAgain(
        () =>
          withRoom(relayerId, each, use, named).catch(async (error: unknown) => {
            if (error instanceof DomainError && error.kind === 'forbidden') await storeWithoutFuture(relayerId, each.flat());
            throw error;
          }),
        (error) => error instanceof ConflictError && error.change === 'storeSpendWindow',
      );
    },
    async requireRoom(relayerId, spends) {
      if (spends.length > 0)
        await withRoom(
          relayerId,
          [spends],
          () => undefined,
          (error) => error,
        );
    },
  };
}

/**
 * Throws `forbidden` POLICY_DENIED for a signature that can move something for longer than the window of a limit. For some contracts a
 * deadline in the past, such as 0, is none, and for others it counts as long as their block is older.
 */
function requireNear(relayerId: string, { window, limit, until }: Spend, nowMs: number): void {
  if (until === undefined || (until.ms > nowMs && until.ms <= nowMs + limit.windowMs)) return;
  const { field } = until;
  const [ruleId = ''] = window.split(' ');
  const description =
    until.ms <= nowMs
      ? 'must be in the future: some contracts take a deadline in the past, such as 0, for none'
      : `must be at most ${limit.windowMs / 1_000} s ahead, the length of a limit of the rule ${ruleId}: the signature counts until then`;
  throw new DomainError('forbidden', 'POLICY_DENIED', `${field} ${description}`, {
    fields: [{ field, description }],
    metadata: { relayer_id: relayerId, rule_id: ruleId },
  });
}

function reservedOf({ window, amount, onSuccess }: Spend): ReservedSpend {
  return onSuccess === undefined ? { window, amount } : { window, amount, onSuccess };
}

/** The error about spends that a window has no room for: no time helps if they are above the limit. */
function limitExceeded(relayerId: string, each: EachSpends, { refused, left, roomAtMs, nowMs }: Refused, named: Named): DomainError {
  const { limit, window, amount } = refused;
  const [ruleId = ''] = window.split(' ');
  const asset = (typeof limit.asset === 'object' ? limit.asset?.token : limit.asset) ?? 'native';
  let room = roomAtMs === null ? limit.amount : left;
  const passing = each.findIndex((spends) => {
    for (const spend of spends) if (spend.window === window) room -= spend.amount;
    return room < 0n;
  });
  const field = each[passing]?.find((spend) => spend.window === window)?.field ?? refused.field;
  const needed = `needs ${amount} (${asset})${each.length === 1 ? '' : ' together with the other transactions'}`;
  const allowed = `the rule ${ruleId} allows ${limit.amount} in ${limit.windowMs / 1_000} s`;
  const description = `${needed}; ${allowed}${roomAtMs === null ? '' : `, of which ${left} are left`}`;
  const fields = [{ field, description }];
  const metadata = { relayer_id: relayerId, rule_id: ruleId, asset };
  const error =
    roomAtMs === null
      ? new DomainError('forbidden', 'POLICY_DENIED', `${field} ${description}`, { fields, metadata })
      : new DomainError('forbidden', 'SPEND_LIMIT_EXCEEDED', `${field} ${description}`, {
          fields,
          metadata: { ...metadata, left: String(left) },
          retryAfterMs: Math.max(0, roomAtMs - nowMs),
        });
  return named(error, passing);
}
