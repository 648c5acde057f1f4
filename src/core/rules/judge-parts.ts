import { askerOf, type Judged, type Judgement, type NeededApproval, type Spend, windowOf } from '../records/judgement.js';
import { type CostBound, isBudget, type PartRule, type SpendLimit } from '../records/spending-rule.js';
import { boundByRules, lowerBound } from './cost-bound.js';
import { approvalBy, type Condition, type Decision, decide, type Match, matchIf, type Reading } from './deciding-rule.js';

/*
 * Judges transactions that have parts: the first rule that is for a part decides about it, and all parts must be allowed. What a chain
 * cannot read of a part is unknown to the conditions that ask for it: see `decide`.
 */

/** A part of a transaction as rules see it. Addresses and assets are in the form that `Canonical` returns. */
export interface RulePart {
  /** Names it in errors. */
  readonly field: string;
  /** The type of an operation, the program of an instruction; null: it cannot be read. */
  readonly kind: string | null;
  /** Whether a rule that has this text among its functions, or first bytes, is for it. */
  isCall(text: string): Match;
  /** What it pays or calls. */
  readonly receivers: readonly string[];
  /** What else it may pay, as far as it shows; null: anyone. */
  readonly mayPay: readonly string[] | null;
  /**
   * True if makers of offers get what it pays, and the receivers something else. Then a rule with receivers allows it only if it names its
   * kind: a caller may choose the offers.
   */
  readonly isTrade: boolean;
  /** What it takes from the accounts that the relayer signs for; null: it cannot be read, or will be decided later. */
  readonly paid: readonly PaidAmount[] | null;
  /** The assets that the receivers get, if others than what is paid. */
  readonly gets: readonly string[];
  /** What it pays of the native asset, as far as it shows. */
  readonly native: bigint;
  /** True if it pays no more of that. */
  readonly isNativeKnown: boolean;
}

/** A transaction as rules see it. It has a part. */
export interface RuledTransaction {
  readonly parts: readonly RulePart[];
  /** The fee that it cannot do without, or what frees its slot if that is more. */
  readonly leastFee: bigint;
}

/** An amount of an asset. */
export interface PaidAmount {
  readonly asset: string;
  /** The asset as callers name it. */
  readonly name: string;
  readonly amount: bigint;
  /** True if the code of the token decides what happens: only a rule that names the asset may take it for this amount. */
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
  /** The limits of assets. */
  readonly limits: readonly { readonly limit: SpendLimit<string>; readonly asset: string }[];
  /** The limits of costs and fees. */
  readonly budgets: readonly SpendLimit<string>[];
}

/** What a whole transaction costs. */
interface Cost {
  readonly native: bigint;
  readonly isKnown: boolean;
  readonly least: bigint;
}

/** Rules change seldom, and are read for each transaction. */
const compiled = new WeakMap<readonly PartRule[], readonly CompiledRule[]>();

/**
 * Returns what rules, which have no problems, say about a transaction. If rules ask for approvals of several parts, the strictest of each
 * counts; and the lowest of their maximum costs. `canonical` is the same for all calls with these rules.
 */
export function judgeParts(rules: readonly PartRule[], sent: RuledTransaction, asker: Judged, canonical: Canonical): Judgement {
  const usable = compiledOf(rules, canonical);
  const cost = costOf(sent);
  const spends = new Map<string, Spend>();
  const deciding = new Map<CompiledRule, RulePart>();
  let approval: NeededApproval | null = null;
  for (const part of sent.parts) {
    const decision = decidePart(usable, part, cost, asker);
    if (decision.verdict === 'deny') return { ...decision, field: part.field };
    const { by } = decision;
    if (!deciding.has(by)) deciding.set(by, part);
    approval = strictest(approval, approvalBy(by, asker));
    for (const one of spendsOf(by, part, asker))
      spends.set(one.window, { ...one, amount: one.amount + (spends.get(one.window)?.amount ?? 0n) });
  }
  const [first] = deciding.keys();
  if (first === undefined) throw new Error('a transaction has at least one part');
  const bound = [...deciding.keys()].map(boundOf).reduce(lowerBound, null);
  const budgeted = [...deciding].flatMap(([by, part]) => budgetsOf(by, part, { cost, bound, asker }));
  const maxCost = bound === null ? {} : { maxCost: bound };
  return { verdict: 'allow', ruleId: first.rule.id, spends: [...spends.values(), ...budgeted], approval, ...maxCost };
}

/** True if something may bound what a transaction costs: then it must be read. */
export function mayBeBound(rules: readonly PartRule[] | null, stored: CostBound | undefined): boolean {
  return stored !== undefined || rules?.some(({ maxCost }) => maxCost !== null) === true;
}

/** Returns the most that an accepted transaction may cost: see `boundByRules`. `asker`: see `Judged`. Null: no bound. */
export function costBoundOfParts(
  rules: readonly PartRule[] | null,
  sent: RuledTransaction,
  { stored, asker }: { readonly stored: CostBound | undefined; readonly asker: 'approved' | null },
  canonical: Canonical,
): CostBound | null {
  const usable = rules === null ? [] : compiledOf(rules, canonical);
  const cost = costOf(sent);
  const bounds = sent.parts.map((part) =>
    boundByRules(usable, stored?.ruleId, {
      judge: (some) => decidePart(some, part, cost, asker),
      maxOf: ({ rule }) => rule.maxCost,
    }),
  );
  return bounds.reduce(lowerBound, stored ?? null);
}

/** Returns what a transaction pays of the native asset, as far as it shows. */
export function nativeOf({ parts }: Pick<RuledTransaction, 'parts'>): bigint {
  return parts.reduce((sum, { native }) => sum + native, 0n);
}

function costOf(sent: RuledTransaction): Cost {
  const native = nativeOf(sent);
  return { native, isKnown: sent.parts.every(({ isNativeKnown }) => isNativeKnown), least: native + sent.leastFee };
}

function boundOf({ rule: { id, maxCost } }: CompiledRule): CostBound | null {
  return maxCost === null ? null : { ruleId: id, max: maxCost };
}

/** What a transaction reserves of the budgets of a rule that allows a part of it. A rule with a budget has a maximum cost. */
function budgetsOf(
  { rule, budgets }: CompiledRule,
  { field }: RulePart,
  { cost, bound, asker }: { readonly cost: Cost; readonly bound: CostBound | null; readonly asker: Judged },
): readonly Spend[] {
  const most = bound?.max ?? 0n;
  return budgets.map((limit) => {
    const spend = { field, window: windowOf(rule.id, limit, askerOf(asker)), limit };
    return limit.asset === 'cost'
      ? { ...spend, amount: most, onSuccess: cost.native }
      : { ...spend, amount: most - cost.native, onSuccess: 0n };
  });
}

function strictest(one: NeededApproval | null, other: NeededApproval | null): NeededApproval | null {
  if (one === null || other === null) return one ?? other;
  const { ruleId } = other.required > one.required ? other : one;
  return { ruleId, required: Math.max(one.required, other.required), withinMs: Math.min(one.withinMs, other.withinMs) };
}

function decidePart(rules: readonly CompiledRule[], part: RulePart, cost: Cost, asker: Judged): Decision<CompiledRule> {
  return decide(rules, { asker, field: part.field }, (one, reading) => [
    ...conditionsOf(one, part, reading),
    ...costConditions(one, part, cost),
  ]);
}

/** What a transaction costs more depends on its price, which `draft` bounds. A budget is for what shows all that it pays. */
function costConditions({ rule: { maxCost }, budgets }: CompiledRule, { field }: RulePart, { least, isKnown }: Cost): readonly Condition[] {
  if (maxCost === null) return [];
  const isRead = isKnown || !budgets.some(({ asset }) => asset === 'cost');
  return [
    {
      about: `cost of at least ${least}`,
      field,
      match: matchIf(least <= maxCost),
      bound: `lets a cost of at most ${maxCost} be approved`,
    },
    { about: 'cost', field, match: isRead ? 'yes' : 'unknown', bound: 'limits it' },
  ];
}

/** The conditions of a rule in the order in which they are checked. */
function conditionsOf(one: CompiledRule, part: RulePart, reading: Reading): readonly Condition[] {
  const { rule, kinds, limits } = one;
  const { field, kind, isCall, paid } = part;
  const isLimited = ({ asset }: PaidAmount): boolean => limits.some((limit) => limit.asset === asset);
  const isNamed = (amount: PaidAmount): boolean => !amount.mustBeNamed || isLimited(amount) || one.assets?.has(amount.asset) === true;
  const isSmall = ({ amount }: PaidAmount): boolean => rule.maxAmount !== null && amount <= rule.maxAmount;
  const asset = paid === null || paid.length === 0 ? 'asset' : `asset (${paid.map(({ name }) => name).join(', ')})`;
  return [
    { about: 'type', field, match: kinds === null ? 'yes' : kind === null ? 'unknown' : matchIf(kinds.has(kind)) },
    { about: 'call', field, match: rule.calls === null ? 'yes' : best(rule.calls.map(isCall)) },
    { about: 'receiver', field, match: receiverMatch(one, part, reading) },
    { about: asset, field, match: assetMatch(one, part, reading) },
    // What no limit counts would be without a limit.
    { about: asset, field, match: limits.length === 0 ? 'yes' : amountMatch(paid, isLimited), bound: 'has no limit for all that it pays' },
    {
      about: 'amount',
      field,
      match: rule.maxAmount === null ? 'yes' : paid?.every(isNamed) === false ? 'unknown' : amountMatch(paid, isSmall),
      bound: `lets at most ${rule.maxAmount} be approved`,
    },
  ];
}

function best(matches: readonly Match[]): Match {
  return matches.find((match) => match === 'yes') ?? matches.find((match) => match === 'unknown') ?? 'no';
}

/** Money must not go beside the receivers of a rule that allows, nor past one that denies. */
function receiverMatch({ kinds, to }: CompiledRule, { receivers, mayPay, isTrade }: RulePart, reading: Reading): Match {
  if (to === null) return 'yes';
  const isTo = (receiver: string): boolean => to.has(receiver);
  if (reading === 'allow') {
    if (receivers.length > 0 && !(isTrade && kinds === null)) return matchIf(receivers.every(isTo));
    return mayPay?.length === 0 ? 'no' : 'unknown';
  }
  if (receivers.some(isTo)) return 'yes';
  return mayPay === null || mayPay.some(isTo) ? 'unknown' : 'no';
}

function assetMatch({ assets }: CompiledRule, { paid, gets }: RulePart, reading: Reading): Match {
  if (assets === null) return 'yes';
  if (paid === null) return 'unknown';
  const moved = [...paid.map(({ asset }) => asset), ...gets];
  const isNamed = (asset: string): boolean => assets.has(asset);
  if (reading === 'allow') return matchIf(paid.length > 0 && moved.every(isNamed));
  if (moved.some(isNamed)) return 'yes';
  return paid.some(({ mustBeNamed }) => mustBeNamed) ? 'unknown' : 'no';
}

function amountMatch(paid: readonly PaidAmount[] | null, holds: (amount: PaidAmount) => boolean): Match {
  return paid === null ? 'unknown' : matchIf(paid.length > 0 && paid.every(holds));
}

function spendsOf({ rule, limits }: CompiledRule, { field, paid }: RulePart, asker: Judged): readonly Spend[] {
  return limits.flatMap(({ limit, asset }) => {
    const amount = (paid ?? []).reduce((sum, one) => (one.asset === asset ? sum + one.amount : sum), 0n);
    return amount === 0n ? [] : [{ field, window: windowOf(rule.id, limit, askerOf(asker)), limit, amount }];
  });
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
    limits: rule.limits.filter(({ asset }) => !isBudget(asset)).map((limit) => ({ limit, asset: canonical(limit.asset) })),
    budgets: rule.limits.filter(({ asset }) => isBudget(asset)),
  };
}
