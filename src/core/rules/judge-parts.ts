import { type Asker, type Judgement, type Spend, windowOf } from '../records/judgement.js';
import type { PartRule, SpendLimit } from '../records/spending-rule.js';

/*
 * Judges transactions that have parts: the first rule whose conditions all hold for a part decides about it, and all parts must be allowed.
 * What a chain cannot read of a part is for no condition: only a rule that does not ask for it is for such a part.
 */

/** A part of a transaction as rules see it. Addresses and assets are in the form that `Canonical` returns. */
export interface RulePart {
  /** Names it in errors. */
  readonly field: string;
  /** The type of an operation, the program of an instruction; null: it cannot be read. */
  readonly kind: string | null;
  /** True if a rule that has this text among its functions, or first bytes, is for it. */
  isCall(text: string): boolean;
  /** What it pays or calls, as far as it shows. */
  readonly receivers: readonly string[];
  /** What it takes from the accounts that the relayer signs for; null: it cannot be read, or will be decided later. */
  readonly paid: PaidAmount | null;
}

/** An amount of an asset. */
export interface PaidAmount {
  readonly asset: string;
  readonly amount: bigint;
  /** True if only a rule that names the asset may take it for this amount: the code of the token decides what happens. */
  readonly mustBeNamed: boolean;
}

/** Returns the form of an address or an asset that parts have. */
export type Canonical = (text: string) => string;

interface CompiledRule {
  readonly rule: PartRule;
  readonly kinds: ReadonlySet<string> | null;
  readonly to: ReadonlySet<string> | null;
  readonly assets: ReadonlySet<string> | null;
  readonly apiKeyIds: ReadonlySet<string> | null;
  readonly limits: readonly { readonly limit: SpendLimit<string>; readonly asset: string }[];
}

/** Rules change seldom, and are read for each transaction. */
const compiled = new WeakMap<readonly PartRule[], readonly CompiledRule[]>();

/**
 * Returns what rules, which have no problems, say about a transaction, which has a part. `asker`: null for content whose key was checked
 * when it was accepted. `canonical` is the same for all calls with these rules.
 */
export function judgeParts(rules: readonly PartRule[], parts: readonly RulePart[], asker: Asker | null, canonical: Canonical): Judgement {
  const usable = compiledOf(rules, canonical);
  const spends = new Map<string, Spend>();
  let first: string | null = null;
  for (const part of parts) {
    const judgement = judgePart(usable, part, asker);
    if (judgement.verdict === 'deny') return judgement;
    first ??= judgement.ruleId;
    for (const one of judgement.spends) spends.set(one.window, { ...one, amount: one.amount + (spends.get(one.window)?.amount ?? 0n) });
  }
  if (first === null) throw new Error('a transaction has at least one part');
  return { verdict: 'allow', ruleId: first, spends: [...spends.values()] };
}

function judgePart(rules: readonly CompiledRule[], part: RulePart, asker: Asker | null): Judgement {
  const { field } = part;
  let closest: { readonly met: number; readonly name: string; readonly ruleId: string } | null = null;
  for (const one of rules) {
    const { rule } = one;
    const conditions = conditionsOf(one, part, asker);
    const met = conditions.findIndex(([, holds]) => !holds);
    if (met !== -1) {
      if (closest === null || met > closest.met) closest = { met, name: conditions[met]?.[0] ?? '', ruleId: rule.id };
    } else if (rule.effect === 'allow') {
      return { verdict: 'allow', ruleId: rule.id, spends: spendsOf(one, part, asker) };
    } else if (asker !== null || one.apiKeyIds === null) {
      // Whose content it is may not be known any more: then a rule for some keys forbids nothing that another rule has allowed.
      return { verdict: 'deny', ruleId: rule.id, field, description: `is denied by the rule ${rule.id}` };
    }
  }
  const near = closest === null ? '' : `; the closest, ${closest.ruleId}, is not for its ${closest.name}`;
  return { verdict: 'deny', ruleId: null, field, description: `is allowed by no rule of the relayer${near}` };
}

/** The conditions of a rule in the order in which they are checked, with the word for what each is about. */
function conditionsOf(
  { rule, kinds, to, assets, apiKeyIds, limits }: CompiledRule,
  { kind, isCall, receivers, paid }: RulePart,
  asker: Asker | null,
): readonly (readonly [name: string, holds: boolean])[] {
  const isTo = (receiver: string): boolean => to?.has(receiver) === true;
  // Money must not go beside the receivers of a rule that allows, nor past one that denies.
  const isReceived = rule.effect === 'allow' ? receivers.length > 0 && receivers.every(isTo) : receivers.some(isTo);
  const isLimited = limits.some(({ asset }) => asset === paid?.asset);
  const isNamed = assets?.has(paid?.asset ?? '') === true || isLimited;
  const isReadable = paid !== null && (!paid.mustBeNamed || isNamed);
  return [
    ['API key', apiKeyIds === null || asker === null || (asker.apiKeyId !== null && apiKeyIds.has(asker.apiKeyId))],
    ['type', kinds === null || (kind !== null && kinds.has(kind))],
    ['call', rule.calls === null || rule.calls.some(isCall)],
    ['receiver', to === null || isReceived],
    ['asset', assets === null || (paid !== null && assets.has(paid.asset))],
    // What no limit counts would be without a limit.
    ['asset', limits.length === 0 || (paid !== null && isLimited)],
    ['amount', rule.maxAmount === null || (isReadable && paid !== null && paid.amount <= rule.maxAmount)],
  ];
}

function spendsOf({ rule, limits }: CompiledRule, { paid }: RulePart, asker: Asker | null): readonly Spend[] {
  if (paid === null || paid.amount === 0n) return [];
  const { amount } = paid;
  return limits.flatMap(({ limit, asset }) =>
    asset === paid.asset ? [{ window: windowOf(rule.id, limit, asker ?? { apiKeyId: null }), limit, amount }] : [],
  );
}

function compiledOf(rules: readonly PartRule[], canonical: Canonical): readonly CompiledRule[] {
  const known = compiled.get(rules) ?? rules.map((rule) => compile(rule, canonical));
  compiled.set(rules, known);
  return known;
}

function compile(rule: PartRule, canonical: Canonical): CompiledRule {
  const setOf = (texts: readonly string[] | null) => (texts === null ? null : new Set(texts.map(canonical)));
  return {
    rule,
    kinds: rule.kinds === null ? null : new Set(rule.kinds),
    to: setOf(rule.to),
    assets: setOf(rule.assets),
    apiKeyIds: rule.apiKeyIds === null ? null : new Set(rule.apiKeyIds),
    limits: rule.limits.map((limit) => ({ limit, asset: canonical(limit.asset) })),
  };
}
