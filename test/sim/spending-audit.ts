import type { LimitUsage } from '../../src/core/rules/spend-usage.js';
import { type AttemptRow, finals, type Records, type Row, require } from './records.js';
import type { SimLimit, SimRules } from './spending-rules.js';

/*
 * What must count against the limits, from the records, the callers and the chain alone: nothing that the service has counted is read. What
 * was accepted and has not ended counts with the greatest amount that any of its attempts or its content pays. What was paid counts for the
 * length of the window after its end. The service may count up to a sixtieth of the window longer, and until it has seen the end.
 */

/** Checks that limits hold. Its methods throw `Violation`. */
export interface SpendingAudit {
  /** Checks what was accepted since the last time. */
  look(): void;
  /** The true chain has paid, or no longer has paid, with these attempts. */
  paid(hashes: readonly string[], by: 'block' | 'reorg'): void;
  /** The database has lost what was stored last, and what that has reserved: it does not count, even if the chain pays it. */
  wentBack(): void;
  /** Checks at the end what the service shows of a relayer's limits, when it has counted everything. */
  finish(relayerId: string, usages: readonly LimitUsage[]): void;
}

/** The parts of the check. */
export interface SpendingAuditParts {
  readonly rules: SimRules;
  readonly relayerIds: readonly string[];
  readonly records: Records;
  /** The key of the caller who asked for this amount; null: none did. */
  keyOf(amount: bigint): string | null;
  paidByContent(row: Row): bigint;
  paidByAttempt(attempt: AttemptRow): bigint;
  elapsedMs(): number;
}

/** A call that was accepted was judged at most this long ago: a process may hang for a minute. */
const staleMs = 300_000;
/** An end is counted at most so much later: processes may be down. */
const countedWithinMs = 300_000;

const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((all, amount) => all + amount, 0n);
const most = (amounts: readonly bigint[]): bigint => amounts.reduce((high, amount) => (amount > high ? amount : high), 0n);

/** Makes the check. */
export function createSpendingAudit({
  rules: { limits },
  relayerIds,
  records,
  keyOf,
  paidByContent,
  paidByAttempt,
  elapsedMs,
}: SpendingAuditParts): SpendingAudit {
  /** When the transactions ended, by their IDs. */
  const endedAtMs = new Map<string, number>();
  /** When attempts were paid by the true chain, by their hashes. */
  const paidAtMs = new Map<string, number>();
  const before = new Map<Scope, bigint>();
  /** What transactions have paid or were to pay at any time, by their IDs. */
  const wanted = new Map<string, Set<bigint>>();
  const scopes = relayerIds.flatMap((relayerId) =>
    limits.flatMap((limit) =>
      (limit.per === 'relayer' ? [limit.keys] : limit.keys.map((key) => [key])).map((keys) => ({ relayerId, limit, keys })),
    ),
  );

  /** The amounts that a transaction may pay, as far as they count in a window. */
  function contentsOf(row: Row, keys: readonly string[]): readonly bigint[] {
    const attempts = records.attemptsOf(row.id).filter(({ purpose }) => purpose === 'content');
    return counting([paidByContent(row), ...attempts.map(paidByAttempt)], keys);
  }

  const counting = (amounts: readonly bigint[], keys: readonly string[]) => amounts.filter((amount) => keys.includes(keyOf(amount) ?? ''));

  /** What an ended transaction has paid, as far as it counts. */
  function paidBy(row: Row, keys: readonly string[]): bigint {
    const mined = records.minedOf(row);
    return row.status === 'confirmed' && mined !== undefined ? sum(counting([paidByAttempt(mined)], keys)) : 0n;
  }

  function mustCount({ relayerId, limit, keys }: Scope): bigint {
    const rows = [...records.known.values()].filter((row) => row.relayer_id === relayerId);
    return sum(
      rows.map((row) => {
        if (!finals.includes(row.status)) return most(contentsOf(row, keys));
        return (endedAtMs.get(row.id) ?? 0) + limit.windowMs > elapsedMs() ? paidBy(row, keys) : 0n;
      }),
    );
  }

  /** The highest amount of a limit since a time. */
  function highestSince({ amounts }: SimLimit, sinceMs: number): bigint {
    return most(
      amounts.filter((_, index) => (amounts[index + 1]?.sinceMs ?? Number.POSITIVE_INFINITY) >= sinceMs).map(({ amount }) => amount),
    );
  }

  function note(): void {
    for (const row of records.known.values()) {
      const { id, status } = row;
      wanted.set(id, (wanted.get(id) ?? new Set()).add(paidByContent(row)));
      if (!finals.includes(status)) endedAtMs.delete(id);
      else if (!endedAtMs.has(id)) endedAtMs.set(id, elapsedMs());
    }
  }

  const amountsOf = ({ id }: Row, keys: readonly string[]) => counting([...(wanted.get(id) ?? [])], keys);

  function shown({ relayerId, limit, keys }: Scope): string {
    const rows = [...records.known.values()].filter((row) => row.relayer_id === relayerId && amountsOf(row, keys).length > 0);
    const ofRow = (row: Row) =>
      `${row.id} ${row.status} ${row.failure_reason ?? ''} ended ${endedAtMs.get(row.id)}: ${amountsOf(row, keys).join(' ')}`;
    return `${limit.ruleId} per ${limit.per}, ${limit.windowMs} ms, ${keys.join(' ')}\n${rows.map(ofRow).join('\n')}`;
  }

  return {
    look() {
      if (scopes.length === 0) return;
      note();
      for (const scope of scopes) {
        const counted = mustCount(scope);
        const highest = highestSince(scope.limit, elapsedMs() - staleMs);
        // A limit may be lowered below what counts already.
        const isMore = counted > (before.get(scope) ?? 0n);
        require(!isMore || counted <= highest, () => `${counted} of a limit of ${highest} are accepted: ${shown(scope)}`);
        if (isMore && counted * 10n >= highest * 9n) records.count('limit: nine tenths are used');
        before.set(scope, counted);
      }
    },
    paid(hashes, by) {
      if (scopes.length === 0) return;
      for (const hash of hashes)
        if (by === 'block') paidAtMs.set(hash, elapsedMs());
        else paidAtMs.delete(hash);
      for (const scope of scopes) {
        const { relayerId, limit, keys } = scope;
        const amounts = [...paidAtMs].flatMap(([hash, atMs]) => {
          const attempt = records.attemptBy(hash);
          const isOwn = attempt !== undefined && records.known.get(attempt.transaction_id)?.relayer_id === relayerId;
          return isOwn && atMs + limit.windowMs > elapsedMs() ? counting([paidByAttempt(attempt)], keys) : [];
        });
        const highest = highestSince(limit, 0);
        require(sum(amounts) <= highest, () => `the chain pays ${sum(amounts)} of a limit of ${highest}: ${shown(scope)}`);
      }
    },
    wentBack() {
      note();
      for (const scope of scopes) before.set(scope, mustCount(scope));
    },
    finish(relayerId, usages) {
      note();
      for (const scope of scopes.filter((one) => one.relayerId === relayerId)) {
        const { limit, keys } = scope;
        const usage = usages.find(
          (one) => one.ruleId === limit.ruleId && one.limit.per === limit.per && (one.apiKeyId === null || keys.includes(one.apiKeyId)),
        );
        const { used, reserved } = usage ?? { used: 0n, reserved: 0n };
        require(reserved === 0n, () => `${reserved} stay reserved although everything has ended: ${shown(scope)}`);
        const rows = [...records.known.values()].filter((row) => row.relayer_id === relayerId);
        // What has become of these is not known to the service.
        const unknown = rows.filter(({ failure_reason: reason }) => reason === 'displaced' || reason === 'unresolvable');
        const longest = limit.windowMs + limit.windowMs / 60 + countedWithinMs;
        const may = rows.filter(({ id }) => (endedAtMs.get(id) ?? 0) + longest > elapsedMs());
        const perhaps = unknown.map((row) => most(amountsOf(row, keys)));
        const greatest = sum([...may.map((row) => paidBy(row, keys)), ...perhaps]);
        const least = mustCount(scope);
        require(used >= least && used <= greatest, () => `${used} count as used, not ${least} to ${greatest}: ${shown(scope)}`);
        if (least === greatest && least > 0n) records.count('limit: exactly what was paid is used in the end');
      }
    },
  };
}

interface Scope {
  readonly relayerId: string;
  readonly limit: SimLimit;
  readonly keys: readonly string[];
}
