import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Judgement } from '../../src/core/records/judgement.js';
import type { PartRule, RuleEffect } from '../../src/core/records/spending-rule.js';

/** A part of a transaction, written by hand: what the page says that rules see of it. */
export interface DescribedPart {
  /** Null: only rules without conditions on content are for it. */
  readonly kind: string | null;
  readonly call: string | null;
  readonly receivers: readonly string[];
  /** `known`: the service knows what the code does that pays. */
  readonly paid: { readonly asset: string; readonly amount: bigint; readonly known: boolean } | null;
}

/** What random rules choose from. */
export interface RuleWords {
  readonly kinds: readonly string[];
  readonly calls: readonly string[];
  readonly to: readonly string[];
  readonly assets: readonly string[];
}

const keys = ['key-1', 'key-2'];

const orNull = <T>(values: fc.Arbitrary<T>, weight = 1): fc.Arbitrary<T | null> =>
  fc.oneof({ weight, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: values });
const someOf = <T>(values: readonly T[]) => fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 3 });

/** Who asks. */
export const anyKey = orNull(fc.constantFrom(...keys));

/** Random rules, of which some have problems. */
export function anyRules(words: RuleWords): fc.Arbitrary<readonly PartRule[]> {
  const limit = fc.record({
    asset: fc.constantFrom(...words.assets),
    amount: fc.constant(5n),
    windowMs: fc.constantFrom(60_000, 3_600_000),
    per: fc.constantFrom('relayer' as const, 'api_key' as const),
  });
  const rule: fc.Arbitrary<PartRule> = fc.record({
    id: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
    effect: fc.constantFrom<RuleEffect>('allow', 'allow', 'deny'),
    kinds: orNull(someOf(words.kinds), 2),
    calls: orNull(someOf(words.calls), 4),
    to: orNull(someOf(words.to), 2),
    assets: orNull(someOf(words.assets), 3),
    maxAmount: orNull(fc.constantFrom(0n, 1n, 2n, 150n), 3),
    apiKeyIds: orNull(someOf(keys), 4),
    limits: fc.oneof(fc.constant([]), fc.array(limit, { maxLength: 2 })),
  });
  return fc.uniqueArray(
    rule.map((one) => (one.effect === 'deny' ? { ...one, limits: [] } : one)),
    { minLength: 1, maxLength: 5, selector: ({ id }) => id },
  );
}

/** What the page says about rules, written once more without any part of the service. `names`: what else each text is called. */
export function expectedOf(
  rules: readonly PartRule[],
  parts: readonly DescribedPart[],
  key: string | null,
  { sameAs, isCall }: { readonly sameAs: (text: string) => string; readonly isCall: (named: string, call: string) => boolean },
): string {
  const rulesOf: string[] = [];
  const counted = new Map<string, bigint>();
  for (const part of parts) {
    const has = (list: readonly string[], text: string) => list.some((one) => sameAs(one) === sameAs(text));
    const found = rules.find((rule) => {
      if (rule.apiKeyIds !== null && !rule.apiKeyIds.includes(key ?? '')) return false;
      if (rule.kinds !== null && !rule.kinds.includes(part.kind ?? '')) return false;
      if (rule.calls !== null && (part.call === null || !rule.calls.some((one) => isCall(one, part.call ?? '')))) return false;
      const { to, assets, maxAmount, limits } = rule;
      if (to !== null) {
        const inside = part.receivers.filter((one) => has(to, one)).length;
        if (inside === 0 || (rule.effect === 'allow' && inside < part.receivers.length)) return false;
      }
      if (assets === null && maxAmount === null && limits.length === 0) return true;
      if (part.paid === null) return false;
      const { asset, amount, known } = part.paid;
      const limited = limits.map((one) => one.asset);
      if (assets !== null && !has(assets, asset)) return false;
      if (limits.length > 0 && !has(limited, asset)) return false;
      if (!known && !has([...(assets ?? []), ...limited], asset)) return false;
      return maxAmount === null || amount <= maxAmount;
    });
    if (found?.effect !== 'allow') return 'deny';
    rulesOf.push(found.id);
    for (const { asset, windowMs, per } of found.limits) {
      if (part.paid === null || sameAs(asset) !== sameAs(part.paid.asset) || part.paid.amount === 0n) continue;
      const window = [found.id, asset, windowMs, per === 'relayer' ? 'all' : key].join(' ');
      counted.set(window, (counted.get(window) ?? 0n) + part.paid.amount);
    }
  }
  return `allow by ${rulesOf[0]}: ${[...counted].map(([window, amount]) => `${window} ${amount}`).sort()}`;
}

/** A judgement in the same words. */
export function shownOf(judgement: Judgement | null, key: string | null): string {
  if (judgement === null) assert.fail('it has rules');
  if (judgement.verdict === 'deny') return 'deny';
  const spends = judgement.spends.map(({ window, limit: { asset, windowMs, per }, amount }) =>
    [window.split(' ')[0], asset, windowMs, per === 'relayer' ? 'all' : key, amount].join(' '),
  );
  return `allow by ${judgement.ruleId}: ${spends.sort()}`;
}
