import { askerOf, type Judged, type Judgement, type NeededApproval, type Spend, windowOf } from '../records/judgement.js';
import type { PartRule, SpendLimit } from '../records/spending-rule.js';
import { approvalBy, type Condition, decide, type Match, matchIf, type Reading } from './deciding-rule.js';

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
  readonly limits: readonly { readonly limit: SpendLimit<string>; readonly asset: string }[];
}

/** Rules change seldom, and are read for each transaction. */
const compiled = new WeakMap<readonly PartRule[], readonly CompiledRule[]>();

/**
 * Returns what rules, which have no problems, say about a transaction, which has a part. If rules ask for approvals of several parts, the
 * strictest of each counts. `canonical` is the same for all calls with these rules.
 */
export function judgeParts(rules: readonly PartRule[], parts: readonly RulePart[], asker: Judged, canonical: Canonical): Judgement {
  const usable = compiledOf(rules, canonical);
  const spends = new Map<string, Spend>();
  let first: string | null = null;
  let approval: NeededApproval | null = null;
  for (const part of parts) {
    const judgement = judgePart(usable, part, asker);
    if (judgement.verdict === 'deny') return judgement;
    first ??= judgement.ruleId;
    approval = strictest(approval, judgement.approval);
    for (const one of judgement.spends) spends.set(one.window, { ...one, amount: one.amount + (spends.get(one.window)?.amount ?? 0n) });
  }
  if (first === null) throw new Error('a transaction has at least one part');
  return { verdict: 'allow', ruleId: first, spends: [...spends.values()], approval };
}

function strictest(one: NeededApproval | null, other: NeededApproval | null): NeededApproval | null {
  if (one === null || other === null) return one ?? other;
  const { ruleId } = other.required > one.required ? other : one;
  return { ruleId, required: Math.max(one.required, other.required), withinMs: Math.min(one.withinMs, other.withinMs) };
}

function judgePart(rules: readonly CompiledRule[], part: RulePart, asker: Judged): Judgement {
  const decision = decide(rules, { asker, field: part.field }, (one, reading) => conditionsOf(one, part, reading));
  if (decision.verdict === 'deny') return { ...decision, field: part.field };
  const { rule } = decision.by;
  return { verdict: 'allow', ruleId: rule.id, spends: spendsOf(decision.by, part, asker), approval: approvalBy(decision.by, asker) };
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
    limits: rule.limits.map((limit) => ({ limit, asset: canonical(limit.asset) })),
  };
}
