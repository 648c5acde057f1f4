import type { Asker } from '../records/judgement.js';
import type { RuleEffect } from '../records/spending-rule.js';

/*
 * Finds the rule that decides about content. A condition holds, does not, or asks for what cannot be read: accounts of a lookup table, call
 * data that no compiler writes, what a contract does. Nothing must walk past a rule because the rule cannot read it. So a rule that denies
 * is for what it cannot read, and one that allows is not. If a condition certainly does not hold, the rule is not for the content.
 */

/** Whether a condition holds. */
export type Match = 'yes' | 'no' | 'unknown';

/** A condition of a rule. */
export interface Condition {
  /** The word for what it is about. */
  readonly about: string;
  /** The field of the content that it reads. */
  readonly field: string;
  readonly match: Match;
}

interface DecidingRule {
  readonly rule: { readonly id: string; readonly effect: RuleEffect | null };
  readonly apiKeyIds: ReadonlySet<string> | null;
}

/** The rule that allows content; or why no rule does. `ruleId`: null if none is for it. */
type Decision<Rule> =
  | { readonly verdict: 'allow'; readonly by: Rule }
  | { readonly verdict: 'deny'; readonly ruleId: string | null; readonly field: string; readonly description: string };

/** Returns yes if it holds. */
export function matchIf(holds: boolean): Match {
  return holds ? 'yes' : 'no';
}

/**
 * Returns what the first rule says that is for content. `asker`: null for content whose key was checked when it was accepted. `field`: what
 * an error is about if no condition is.
 */
export function decide<Rule extends DecidingRule>(
  rules: readonly Rule[],
  { asker, field }: { readonly asker: Asker | null; readonly field: string },
  conditionsOf: (one: Rule) => readonly Condition[],
): Decision<Rule> {
  let closest: { readonly met: number; readonly condition: Condition; readonly ruleId: string } | null = null;
  for (const one of rules) {
    const { id, effect } = one.rule;
    const conditions = [keyCondition(one, asker), ...conditionsOf(one)];
    const failing = conditions.findIndex(({ match }) => match === 'no' || (match === 'unknown' && effect === 'allow'));
    const condition = conditions[failing];
    if (condition === undefined) {
      if (effect === 'allow') return { verdict: 'allow', by: one };
      const unread = conditions.find(({ match }) => match === 'unknown');
      const why = unread === undefined ? '' : `, which cannot read its ${unread.about}`;
      return { verdict: 'deny', ruleId: id, field: unread?.field ?? field, description: `is denied by the rule ${id}${why}` };
    }
    if (effect === 'allow' && (closest === null || failing > closest.met)) closest = { met: failing, condition, ruleId: id };
  }
  if (closest === null) return { verdict: 'deny', ruleId: null, field, description: 'is allowed by no rule of the relayer' };
  const { condition, ruleId } = closest;
  const why = condition.match === 'unknown' ? 'cannot read' : 'is not for';
  const description = `is allowed by no rule of the relayer; the closest, ${ruleId}, ${why} its ${condition.about}`;
  return { verdict: 'deny', ruleId: null, field: condition.field, description };
}

/** Whose content it is may not be known any more: then a rule for some keys forbids nothing that another rule has allowed. */
function keyCondition({ rule, apiKeyIds }: DecidingRule, asker: Asker | null): Condition {
  const holds = apiKeyIds === null || (asker === null ? rule.effect === 'allow' : asker.apiKeyId !== null && apiKeyIds.has(asker.apiKeyId));
  return { about: 'API key', field: 'api_keys', match: matchIf(holds) };
}
