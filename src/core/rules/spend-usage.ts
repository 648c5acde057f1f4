import type { SpendingReads } from '../ports/store/spending.js';
import { type Asker, type CountedLimit, type Spend, windowOf } from '../records/judgement.js';
import type { Relayer } from '../records/relayer.js';
import type { Clock } from '../work/clock.js';
import type { BlockTimes } from './spend-ledger.js';
import { emptyWindow, openAt, usedAt } from './spend-window.js';

/** What a limit has left. */
export interface LimitUsage {
  readonly ruleId: string;
  readonly limit: CountedLimit;
  /** Null: it counts all transactions of the relayer. */
  readonly apiKeyId: string | null;
  readonly used: bigint;
  /** By transactions that have not ended, and signatures whose deadline has not passed. */
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
  readonly blockTimes: BlockTimes;
}

/** Returns what each limit of a relayer's rules has left: of a limit for each API key, one for each key that it has counted. */
export async function spendUsage(deps: SpendUsageDeps, { id, policies }: Relayer): Promise<readonly LimitUsage[]> {
  const rules: readonly LimitingRule[] = policies.rules ?? [];
  if (rules.every(({ limits }) => limits.length === 0)) return [];
  const { stored, usageOf } = await readUsage(deps, id);
  return rules.flatMap(({ id: ruleId, limits }) =>
    limits.flatMap((limit) => {
      if (limit.per === 'relayer') return [usageOf(ruleId, limit, null)];
      const prefix = windowOf(ruleId, limit, { apiKeyId: null });
      return stored.flatMap(({ name }) => (name.startsWith(prefix) ? [usageOf(ruleId, limit, name.slice(prefix.length))] : []));
    }),
  );
}

/** Returns what the limits have left that these spends of a caller count against, in the order of the rules. */
export async function usageOfSpends(
  deps: SpendUsageDeps,
  { id, policies }: Relayer,
  spends: readonly Spend[],
  asker: Asker,
): Promise<readonly LimitUsage[]> {
  if (spends.length === 0) return [];
  const rules: readonly LimitingRule[] = policies.rules ?? [];
  const counting = new Set(spends.map(({ window }) => window));
  const { usageOf } = await readUsage(deps, id);
  return rules.flatMap(({ id: ruleId, limits }) =>
    limits.flatMap((limit) =>
      counting.has(windowOf(ruleId, limit, asker)) ? [usageOf(ruleId, limit, limit.per === 'relayer' ? null : asker.apiKeyId)] : [],
    ),
  );
}

async function readUsage({ store, clock, blockTimes }: SpendUsageDeps, relayerId: string) {
  const stored = await store.read.allSpendWindows(relayerId);
  const times = { nowMs: clock.nowMs(), blockMs: blockTimes.ofRelayer(relayerId) };
  const usageOf = (ruleId: string, limit: CountedLimit, apiKeyId: string | null): LimitUsage => {
    const name = windowOf(ruleId, limit, { apiKeyId });
    const window = stored.find((one) => one.name === name)?.window ?? emptyWindow(limit.windowMs);
    const total = usedAt(window, times);
    const left = limit.amount > total ? limit.amount - total : 0n;
    const reserved = openAt(window, times);
    return { ruleId, limit, apiKeyId, used: total - reserved, reserved, left };
  };
  return { stored, usageOf };
}
