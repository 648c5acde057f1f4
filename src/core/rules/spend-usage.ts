import type { SpendingReads } from '../ports/store/spending.js';
import { type CountedLimit, windowOf } from '../records/judgement.js';
import type { Relayer } from '../records/relayer.js';
import type { Clock } from '../work/clock.js';
import { emptyWindow, usedAt } from './spend-window.js';

/** What a limit has left. */
export interface LimitUsage {
  readonly ruleId: string;
  readonly limit: CountedLimit;
  /** Null: it counts all transactions of the relayer. */
  readonly apiKeyId: string | null;
  readonly used: bigint;
  /** By transactions that have not ended. */
  readonly reserved: bigint;
  readonly left: bigint;
}

/** A rule on any network. */
interface LimitingRule {
  readonly id: string;
  readonly limits: readonly CountedLimit[];
}

/** The dependencies of `spendUsage`. */
export interface SpendUsageDeps {
  readonly store: { readonly read: Pick<SpendingReads, 'allSpendWindows'> };
  /** The time that all instances agree on. */
  readonly clock: Pick<Clock, 'nowMs'>;
}

/** Returns what each limit of a relayer's rules has left: of a limit for each API key, one for each key that it has counted. */
export async function spendUsage({ store, clock }: SpendUsageDeps, { id, policies }: Relayer): Promise<readonly LimitUsage[]> {
  const rules: readonly LimitingRule[] = policies.rules ?? [];
  if (rules.every(({ limits }) => limits.length === 0)) return [];
  const stored = await store.read.allSpendWindows(id);
  const nowMs = clock.nowMs();

  function usageOf(ruleId: string, limit: CountedLimit, apiKeyId: string | null): LimitUsage {
    const name = windowOf(ruleId, limit, { apiKeyId });
    const window = stored.find((one) => one.name === name)?.window ?? emptyWindow(limit.windowMs);
    const total = usedAt(window, nowMs);
    const left = limit.amount > total ? limit.amount - total : 0n;
    return { ruleId, limit, apiKeyId, used: total - window.open, reserved: window.open, left };
  }

  return rules.flatMap(({ id: ruleId, limits }) =>
    limits.flatMap((limit) => {
      if (limit.per === 'relayer') return [usageOf(ruleId, limit, null)];
      const prefix = windowOf(ruleId, limit, { apiKeyId: null });
      return stored.flatMap(({ name }) => (name.startsWith(prefix) ? [usageOf(ruleId, limit, name.slice(prefix.length))] : []));
    }),
  );
}
