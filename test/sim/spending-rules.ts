import type { Relayer } from '../../src/core/records/relayer.js';
import type { Random } from '../support/seeded-random.js';
import { type RunContext, recurring } from './context.js';

/** A limit of a rule in a run. */
export interface SimLimit {
  readonly ruleId: string;
  readonly per: 'relayer' | 'api_key';
  readonly windowMs: number;
  /** The keys whose amounts count. */
  readonly keys: readonly string[];
  /** What it has been, oldest first. */
  readonly amounts: readonly { readonly sinceMs: number; readonly amount: bigint }[];
}

/** The spending rules of a run. */
export interface SimRules {
  /** Empty: there are no rules. */
  readonly limits: readonly SimLimit[];
  /** Returns a relayer with the rules as they are now. */
  asConfigured(relayer: Relayer): Relayer;
  /** The key of the next caller; null: the run has no rules. */
  keyFor(random: Random): string | null;
}

const longMs = 86_400_000;
const shortWindowsMs = [60_000, 180_000, 600_000] as const;
/** Two keys have a rule of their own. */
const teams = ['team-a', 'team-b'] as const;
const others = ['other', 'bootstrap'] as const;

/** Makes the rules of a run: limits of the native amount, which change from time to time. */
export function makeRules(context: RunContext): SimRules {
  const random = context.random.fork('spending rules');
  if (!context.faults.has('spending limits')) return { limits: [], asConfigured: (relayer) => relayer, keyFor: () => null };
  // A clock that jumps ahead ends short windows early; several instances agree on the time.
  const isExact = context.instances > 1 || !context.faults.has('clock');
  const anyWindowMs = (): number => (isExact && random.chance(0.6) ? (shortWindowsMs[random.between(0, 2)] ?? longMs) : longMs);
  // The amounts of requests are 1, 2, 3 and so on.
  const anyAmount = (): bigint => BigInt(random.between(50, 500));
  const limitOf = (ruleId: string, per: SimLimit['per'], keys: readonly string[]) => ({
    ruleId,
    per,
    keys,
    windowMs: anyWindowMs(),
    amounts: [{ sinceMs: 0, amount: anyAmount() }],
  });
  const limits = [limitOf('teams', 'api_key', teams), limitOf('teams', 'relayer', teams), limitOf('others', 'relayer', others)];
  let configured = new WeakMap<Relayer, Relayer>();

  const ruleOf = (id: string, apiKeyIds: readonly string[] | null) => ({
    id,
    effect: 'allow' as const,
    to: null,
    functions: null,
    arguments: [],
    maxValueWei: null,
    maxCostWei: null,
    apiKeyIds,
    approvals: null,
    approvalMs: null,
    typedData: null,
    deadlineField: null,
    limits: limits.flatMap(({ ruleId, per, windowMs, amounts }) =>
      ruleId === id ? [{ asset: 'native' as const, amount: amounts.at(-1)?.amount ?? 0n, windowMs, per }] : [],
    ),
  });

  recurring(context, 60_000, () => {
    const changed = limits[random.between(0, limits.length - 1)];
    changed?.amounts.push({ sinceMs: context.time.elapsedMs(), amount: anyAmount() });
    configured = new WeakMap();
    context.log.write(`the limit of ${changed?.ruleId} per ${changed?.per} is now ${changed?.amounts.at(-1)?.amount}`);
  });

  return {
    limits,
    asConfigured(relayer) {
      const { policies } = relayer;
      if (policies.network !== 'evm') return relayer;
      const known = configured.get(relayer);
      if (known !== undefined) return known;
      const withRules = { ...relayer, policies: { ...policies, rules: [ruleOf('teams', teams), ruleOf('others', null)] } };
      configured.set(relayer, withRules);
      return withRules;
    },
    keyFor: (choices) => [...teams, ...others][choices.between(0, 3)] ?? null,
  };
}
