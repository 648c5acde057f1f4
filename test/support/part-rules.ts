import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Judgement } from '../../src/core/records/judgement.js';
import type { PartRule, RuleEffect } from '../../src/core/records/spending-rule.js';

/** A part of a transaction, written by hand: what the page says that rules see of it. */
export interface DescribedPart {
  /** Null: it cannot be read. */
  readonly kind: string | null;
  /** Null: it is no call; undefined: it cannot be read. */
  readonly call: string | null | undefined;
  readonly receivers: readonly string[];
  /** What else it may pay; null: anyone. */
  readonly mayPay: readonly string[] | null;
  /** Null: it cannot be read. `known`: the service knows what the code does that pays. */
  readonly paid: readonly { readonly asset: string; readonly amount: bigint; readonly known: boolean }[] | null;
  /** What a path payment buys for its receiver; null: it is none. */
  readonly bought: string | null;
  /** What it pays of the native asset, as far as it shows, if `paid` does not say so; `isAll`: it pays no more. */
  readonly native?: { readonly amount: bigint; readonly isAll: boolean };
}

/** A part that does nothing that rules ask for. */
export const nothing: Omit<DescribedPart, 'kind'> = { call: null, receivers: [], mayPay: [], paid: [], bought: null };
/** A part of which nothing can be read. */
export const unread: DescribedPart = { kind: null, call: undefined, receivers: [], mayPay: null, paid: null, bought: null };

/** What random rules choose from. */
export interface RuleWords {
  readonly kinds: readonly string[];
  readonly calls: readonly string[];
  readonly to: readonly string[];
  readonly assets: readonly string[];
  /** Maximum costs. */
  readonly costs: readonly bigint[];
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
    asset: fc.constantFrom(...words.assets, 'cost', 'fee'),
    amount: fc.constantFrom(5n, 10n ** 12n),
    windowMs: fc.constantFrom(60_000, 3_600_000),
    per: fc.constantFrom('relayer' as const, 'api_key' as const),
  });
  const rule: fc.Arbitrary<PartRule> = fc.record({
    id: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
    effect: fc.constantFrom<RuleEffect>('allow', 'allow', 'deny', 'approve'),
    kinds: orNull(someOf(words.kinds), 2),
    calls: orNull(someOf(words.calls), 4),
    to: orNull(someOf(words.to), 2),
    assets: orNull(someOf(words.assets), 3),
    maxAmount: orNull(fc.constantFrom(0n, 1n, 2n, 150n), 3),
    maxCost: orNull(fc.constantFrom(...words.costs)),
    apiKeyIds: orNull(someOf(keys), 4),
    limits: fc.oneof(fc.constant([]), fc.array(limit, { maxLength: 2 })),
    approvals: orNull(fc.constantFrom(1, 2, 3)),
    approvalMs: orNull(fc.constantFrom(60_000, 120_000)),
  });
  return fc.uniqueArray(
    rule.map((one) => ({
      ...one,
      ...(one.effect === 'deny' ? { maxAmount: null, maxCost: null, limits: [] } : {}),
      ...(one.effect === 'approve' ? {} : { approvals: null, approvalMs: null }),
    })),
    { minLength: 1, maxLength: 5, selector: ({ id }) => id },
  );
}

/** A rule without what a rule that denies cannot have. */
export function boundless<Rule extends PartRule>(rule: Rule): Rule {
  return { ...rule, maxAmount: null, maxCost: null, limits: [] };
}

const isOfCosts = ({ asset }: { readonly asset: string }): boolean => ['cost', 'fee'].includes(asset);

/** What else each text is called, and what a transaction costs besides what it pays. */
interface Wording {
  readonly sameAs: (text: string) => string;
  readonly isCall: (named: string, call: string) => boolean;
  readonly leastFee: bigint;
}

/** What the page says about rules, written once more without any part of the service. */
export function expectedOf(
  rules: readonly PartRule[],
  parts: readonly DescribedPart[],
  key: string | null,
  { sameAs, isCall, leastFee }: Wording,
): string {
  const natives = parts.map(({ paid, native }) => {
    if (native !== undefined) return native;
    const amounts = (paid ?? []).map(({ asset, amount }) => (sameAs(asset) === 'native' ? amount : 0n));
    return { amount: amounts.reduce((sum, one) => sum + one, 0n), isAll: paid !== null };
  });
  const value = natives.reduce((sum, { amount }) => sum + amount, 0n);
  const isAll = natives.every((one) => one.isAll);
  const used = new Set<PartRule>();
  const rulesOf: string[] = [];
  const counted = new Map<string, bigint>();
  const asked: { readonly count: number; readonly ms: number }[] = [];
  for (const part of parts) {
    const has = (list: readonly string[], text: string) => list.some((one) => sameAs(one) === sameAs(text));
    // For each condition, the answers that are possible: a rule that allows is for the part if it must be, and another one if it may be.
    const isForPart = (rule: PartRule, mustBe: boolean) => {
      if (rule.apiKeyIds !== null && !rule.apiKeyIds.includes(key ?? '')) return false;
      const may = (certain: boolean, possible: boolean) => certain || (!mustBe && possible);
      const { kinds, calls, to, assets, maxAmount, limits } = rule;
      const { kind, call, receivers, mayPay, paid, bought } = part;
      if (kinds !== null && !may(kind !== null && kinds.includes(kind), kind === null)) return false;
      const isCalled = (text: string) => calls === null || calls.some((one) => isCall(one, text));
      if (calls !== null && !may(typeof call === 'string' && isCalled(call), call === undefined)) return false;
      if (to !== null) {
        const inside = receivers.filter((one) => has(to, one)).length;
        const isConsented = bought === null || kinds !== null;
        const isAllowed = inside > 0 && inside === receivers.length && isConsented;
        const isHit = inside > 0 || mayPay === null || mayPay.some((one) => has(to, one));
        if (mustBe ? !isAllowed : !isHit) return false;
      }
      if (assets !== null) {
        const touched = [...(paid ?? []).map(({ asset }) => asset), ...(bought === null ? [] : [bought])];
        const isAllowed = paid !== null && paid.length > 0 && touched.every((one) => has(assets, one));
        const isHit = paid === null || touched.some((one) => has(assets, one)) || paid.some(({ known }) => !known);
        if (mustBe ? !isAllowed : !isHit) return false;
      }
      if (rule.maxCost !== null && value + leastFee > rule.maxCost) return false;
      if (mustBe && !isAll && limits.some(({ asset }) => asset === 'cost')) return false;
      const limited = limits.filter((one) => !isOfCosts(one)).map((one) => one.asset);
      if (maxAmount === null && limited.length === 0) return true;
      if (paid === null) return !mustBe;
      if (paid.length === 0) return false;
      if (limited.length > 0 && paid.some(({ asset }) => !has(limited, asset))) return false;
      if (maxAmount === null) return true;
      const isRead = paid.every(({ asset, known }) => known || has([...(assets ?? []), ...limited], asset));
      return isRead ? paid.every(({ amount }) => amount <= maxAmount) : !mustBe;
    };
    // What is beyond the maximum or the limits of a rule that asks for approvals may still be for another such rule, but for none that allows.
    const isBeyond = (rule: PartRule) => {
      const { paid } = part;
      const limited = rule.limits.filter((one) => !isOfCosts(one)).map(({ asset }) => asset);
      const named = [...(rule.assets ?? []), ...limited];
      const asksForAmounts = rule.maxAmount !== null || limited.length > 0;
      const isCostRead = isAll || !rule.limits.some(({ asset }) => asset === 'cost');
      const isPaidRead = paid !== null && (rule.maxAmount === null || paid.every(({ asset, known }) => known || has(named, asset)));
      const isRead = isCostRead && (!asksForAmounts || isPaidRead);
      return rule.effect === 'approve' && isRead && isForPart(boundless(rule), true) && !isForPart(rule, true);
    };
    const stopping = rules.filter((rule) => isForPart(rule.effect === 'approve' ? boundless(rule) : rule, rule.effect === 'allow'));
    const firstBeyond = stopping.findIndex(isBeyond);
    const found = stopping.find((rule, at) => !isBeyond(rule) && (firstBeyond < 0 || at < firstBeyond || rule.effect !== 'allow'));
    if (found === undefined || found.effect === 'deny' || !isForPart(found, true)) return 'deny';
    rulesOf.push(found.id);
    used.add(found);
    if (found.effect === 'approve') asked.push({ count: found.approvals ?? 1, ms: found.approvalMs ?? 86_400_000 });
    for (const { asset, windowMs, per } of found.limits.filter((one) => !isOfCosts(one))) {
      for (const one of part.paid ?? []) {
        if (sameAs(asset) !== sameAs(one.asset) || one.amount === 0n) continue;
        const window = [found.id, asset, windowMs, per === 'relayer' ? 'all' : key].join(' ');
        counted.set(window, (counted.get(window) ?? 0n) + one.amount);
      }
    }
  }
  const most = [...used].flatMap(({ maxCost }) => maxCost ?? []).sort((one, other) => (one < other ? -1 : 1))[0];
  for (const { id, limits } of used)
    for (const { asset, windowMs, per } of limits.filter(isOfCosts))
      counted.set([id, asset, windowMs, per === 'relayer' ? 'all' : key].join(' '), (most ?? 0n) - (asset === 'fee' ? value : 0n));
  const kind =
    asked.length === 0 ? 'allow' : `approve ${Math.max(...asked.map((one) => one.count))} ${Math.min(...asked.map((one) => one.ms))}`;
  return `${kind} by ${rulesOf[0]}, at most ${most ?? null}: ${[...counted].map(([window, amount]) => `${window} ${amount}`).sort()}`;
}

/** A judgement in the same words. */
export function shownOf(judgement: Judgement | null, key: string | null): string {
  if (judgement === null) assert.fail('it has rules');
  if (judgement.verdict === 'deny') return 'deny';
  const spends = judgement.spends.map(({ window, limit: { asset, windowMs, per }, amount }) =>
    [window.split(' ')[0], asset, windowMs, per === 'relayer' ? 'all' : key, amount].join(' '),
  );
  const { approval } = judgement;
  const kind = approval === null ? 'allow' : `approve ${approval.required} ${approval.withinMs}`;
  return `${kind} by ${judgement.ruleId}, at most ${judgement.maxCost?.max ?? null}: ${spends.sort()}`;
}
