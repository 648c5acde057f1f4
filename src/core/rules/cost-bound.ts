import { max } from '../records/bigints.js';
import type { CostBound } from '../records/spending-rule.js';
import type { Decision } from './deciding-rule.js';

/*
 * What content may cost that was accepted. The maximum that allowed it is stored with it; rules of now only lower it.
 */

/** A rule that may have a maximum. */
interface BoundingRule {
  readonly rule: { readonly id: string };
  /** Null: for the calls of all keys. */
  readonly apiKeyIds: ReadonlySet<string> | null;
}

/**
 * Returns the bound of accepted content by the rules of now; null: none. Of rules for some keys it is not known which one allowed it, so
 * the highest maximum counts, unless the one is among them that did (`storedId`). `judge`: decides by some of the rules.
 */
export function boundByRules<Rule extends BoundingRule>(
  rules: readonly Rule[],
  storedId: string | undefined,
  { judge, maxOf }: { judge(rules: readonly Rule[]): Decision<Rule>; maxOf(one: Rule): bigint | null },
): CostBound | null {
  const deciding: Rule[] = [];
  for (let from = 0; from < rules.length; ) {
    const decision = judge(rules.slice(from));
    if (decision.verdict === 'deny') break;
    deciding.push(decision.by);
    if (decision.by.apiKeyIds === null) break;
    from = rules.indexOf(decision.by) + 1;
  }
  const own = deciding.filter(({ rule }) => rule.id === storedId);
  let highest: CostBound | null = null;
  for (const one of own.length > 0 ? own : deciding) {
    const most = maxOf(one);
    if (most === null) return null;
    if (highest === null || most > highest.max) highest = { ruleId: one.rule.id, max: most };
  }
  return highest;
}

/** Returns the lower of two bounds; null: there is none. Of equal ones, the first. */
export function lowerBound(one: CostBound | null, other: CostBound | null): CostBound | null {
  if (one === null || other === null) return one ?? other;
  return other.max < one.max ? other : one;
}

/**
 * Returns the bound of what takes the slot of content and does nothing: otherwise a caller could choose content whose slot can never be
 * freed. Rules of now only raise it: an operator frees a slot by a higher maximum (`maxNow`), or without the rule (null).
 */
export function fillerBound(stored: CostBound | undefined, maxNow: bigint | null): CostBound | null {
  return stored === undefined || maxNow === null ? null : { ...stored, max: max(stored.max, maxNow) };
}
