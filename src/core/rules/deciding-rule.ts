import type { Judged, NeededApproval } from '../records/judgement.js';
import type { RuleApprovals, RuleEffect } from '../records/spending-rule.js';

/*
 * Finds the rule that decides about content. A condition holds, does not, or asks for what cannot be read: accounts of a lookup table, call
 * data that no compiler writes, what a contract does. Nothing must walk past a rule because the rule cannot read it. So a rule that denies
 * is for what it cannot read, and one that allows is not. If a condition certainly does not hold, the rule is not for the content.
 *
 * A rule that asks for approval stops what a rule that denies with its conditions would stop, and lets be approved what one that allows
 * would allow. What is between the two is denied: people approve within the rule, and nothing walks past it.
 */

/** How many approvals a rule asks for that does not say it, and in which time they must be given. */
const defaultApproval = { required: 1, withinMs: 86_400_000 };

/** How the conditions of a rule are read: all that content does must be within a rule that allows; one part of it within another rule. */
export type Reading = 'allow' | 'deny';

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
  readonly rule: RuleApprovals & { readonly id: string; readonly effect: RuleEffect | null };
  readonly apiKeyIds: ReadonlySet<string> | null;
}

/** The rule that allows content, perhaps once it is approved; or why no rule does. `ruleId`: null if none is for it. */
type Decision<Rule> =
  | { readonly verdict: 'allow'; readonly by: Rule }
  | { readonly verdict: 'deny'; readonly ruleId: string | null; readonly field: string; readonly description: string };

/** Returns yes if it holds. */
export function matchIf(holds: boolean): Match {
  return holds ? 'yes' : 'no';
}

/**
 * Returns what the first rule says that is for content. `field`: what an error is about if no condition is. `conditionsOf`: the conditions
 * of a rule as they are read for it.
 */
export function decide<Rule extends DecidingRule>(
  rules: readonly Rule[],
  { asker, field }: { readonly asker: Judged; readonly field: string },
  conditionsOf: (one: Rule, reading: Reading) => readonly Condition[],
): Decision<Rule> {
  let closest: { readonly met: number; readonly condition: Condition; readonly ruleId: string } | null = null;
  for (const one of rules) {
    const { id, effect } = one.rule;
    const reading = readingOf(one, asker);
    const conditions = [keyCondition(one, asker), ...conditionsOf(one, reading)];
    const failing = conditions.findIndex(({ match }) => match === 'no' || (match === 'unknown' && reading === 'allow'));
    const condition = conditions[failing];
    if (condition === undefined) {
      if (effect === 'allow') return { verdict: 'allow', by: one };
      const outside = effect === 'approve' ? conditionsOf(one, 'allow').find(({ match }) => match !== 'yes') : null;
      if (outside === undefined) return { verdict: 'allow', by: one };
      const odd = conditions.find(({ match }) => match === 'unknown') ?? outside;
      const why =
        odd === null ? '' : odd.match === 'unknown' ? `, which cannot read its ${odd.about}` : `, which is for a part of its ${odd.about}`;
      return { verdict: 'deny', ruleId: id, field: odd?.field ?? field, description: `is denied by the rule ${id}${why}` };
    }
    if (effect !== 'deny' && (closest === null || failing > closest.met)) closest = { met: failing, condition, ruleId: id };
  }
  if (closest === null) return { verdict: 'deny', ruleId: null, field, description: 'is allowed by no rule of the relayer' };
  const { condition, ruleId } = closest;
  const why = condition.match === 'unknown' ? 'cannot read' : 'is not for';
  const description = `is allowed by no rule of the relayer; the closest, ${ruleId}, ${why} its ${condition.about}`;
  return { verdict: 'deny', ruleId: null, field: condition.field, description };
}

/** Returns the approvals that a rule asks for; null: none. */
export function approvalBy({ id, effect, approvals, approvalMs }: DecidingRule['rule']): NeededApproval | null {
  if (effect !== 'approve') return null;
  return { ruleId: id, required: approvals ?? defaultApproval.required, withinMs: approvalMs ?? defaultApproval.withinMs };
}

/** True for content that was accepted: whose it is is not known any more. */
function isAccepted(asker: Judged): asker is 'approved' | null {
  return asker === null || asker === 'approved';
}

/** A rule for some keys, of which the sender may not be one, forbids nothing that another rule has allowed. */
function readingOf({ rule: { effect }, apiKeyIds }: DecidingRule, asker: Judged): Reading {
  return effect === 'allow' || (effect === 'approve' && apiKeyIds !== null && isAccepted(asker)) ? 'allow' : 'deny';
}

/** A rule for some keys asks for no approval that was not needed. */
function keyCondition({ rule: { effect }, apiKeyIds }: DecidingRule, asker: Judged): Condition {
  const about = { about: 'API key', field: 'api_keys' };
  if (apiKeyIds === null) return { ...about, match: 'yes' };
  if (isAccepted(asker)) return { ...about, match: matchIf(effect === 'allow' || (effect === 'approve' && asker === 'approved')) };
  return { ...about, match: matchIf(asker.apiKeyId !== null && apiKeyIds.has(asker.apiKeyId)) };
}
