import type { Judged, NeededApproval } from '../records/judgement.js';
import type { RuleApprovals, RuleEffect } from '../records/spending-rule.js';

/*
 * Finds the rule that decides about content. A condition holds, does not, or asks for what cannot be read: accounts of a lookup table, call
 * data that no compiler writes, what a contract does. Nothing must walk past a rule because the rule cannot read it. So a rule that denies
 * is for what it cannot read, and one that allows is not. If a condition certainly does not hold, the rule is not for the content.
 *
 * A rule that asks for approval stops what a rule that denies with its conditions would stop, and lets be approved what one that allows
 * would allow. What is between the two is denied: people approve within the rule, and nothing walks past it. A rule that denies has no
 * maximum and no limits, so what is beyond these is stopped, too; only a later rule that asks for approval may still be for it.
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
  /** Set for a maximum or a limit, which rules that deny do not have: what the rule does to content beyond it, for errors. */
  readonly bound?: string;
}

interface DecidingRule {
  readonly rule: RuleApprovals & { readonly id: string; readonly effect: RuleEffect | null };
  readonly apiKeyIds: ReadonlySet<string> | null;
}

/** The rule that allows content, perhaps once it is approved; or why no rule does. `ruleId`: null if none is for it. */
export type Decision<Rule> = { readonly verdict: 'allow'; readonly by: Rule } | Denial;

interface Denial {
  readonly verdict: 'deny';
  readonly ruleId: string | null;
  readonly field: string;
  readonly description: string;
}

/** Returns yes if it holds. */
export function matchIf(holds: boolean): Match {
  return holds ? 'yes' : 'no';
}

/**
 * Returns what the first rule says that is for content. `field`: what an error is about if no condition is. `conditionsOf`: the conditions
 * of a rule as they are read for it; those after one that fails are not asked for, since most rules are not for most content.
 */
export function decide<Rule extends DecidingRule>(
  rules: readonly Rule[],
  { asker, field }: { readonly asker: Judged; readonly field: string },
  conditionsOf: (one: Rule, reading: Reading) => Iterable<Condition>,
): Decision<Rule> {
  let closest: { readonly met: number; readonly condition: Condition; readonly ruleId: string } | null = null;
  let beyond: Denial | null = null;
  for (const one of rules) {
    const { id, effect } = one.rule;
    // What people may still approve needs one of them, for all the rules that allow it.
    if (beyond !== null && effect === 'allow') continue;
    const reading = readingOf(one, asker);
    const { met, failing } = metBy(keyCondition(one, asker), conditionsOf(one, reading), reading);
    if (failing !== null) {
      if (effect !== 'deny' && (closest === null || met.length > closest.met))
        closest = { met: met.length, condition: failing, ruleId: id };
      continue;
    }
    const outside = effect === 'approve' ? [...conditionsOf(one, 'allow')].filter((each) => fails(each, 'allow')) : [];
    if (effect !== 'deny' && outside.length === 0) return { verdict: 'allow', by: one };
    const unread = met.find(({ match }) => match === 'unknown');
    const inside = outside.find(({ bound }) => bound === undefined);
    const denial = denialBy(id, unread ?? inside ?? outside[0], field);
    if (outside.length === 0 || unread !== undefined || inside !== undefined) return denial;
    beyond ??= denial;
  }
  if (beyond !== null) return beyond;
  if (closest === null) return { verdict: 'deny', ruleId: null, field, description: 'is allowed by no rule of the relayer' };
  const { condition, ruleId } = closest;
  const why = condition.match === 'unknown' ? 'cannot read' : 'is not for';
  const description = `is allowed by no rule of the relayer; the closest, ${ruleId}, ${why} its ${condition.about}`;
  return { verdict: 'deny', ruleId: null, field: condition.field, description };
}

/** Returns the conditions up to the first one that fails, and that one; null: none does. */
function metBy(key: Condition, others: Iterable<Condition>, reading: Reading) {
  if (fails(key, reading)) return { met: [], failing: key };
  const met = [key];
  for (const each of others) {
    if (fails(each, reading)) return { met, failing: each };
    met.push(each);
  }
  return { met, failing: null };
}

/** In the reading that denies, a maximum and limits hold for all: a rule must not be walked past by more than it lets through. */
function fails({ match, bound }: Condition, reading: Reading): boolean {
  return reading === 'allow' ? match !== 'yes' : match === 'no' && bound === undefined;
}

/** `odd`: the condition that is not met, if one is not. */
function denialBy(ruleId: string, odd: Condition | undefined, otherField: string): Denial {
  const description = `is denied by the rule ${ruleId}`;
  if (odd === undefined) return { verdict: 'deny', ruleId, field: otherField, description };
  const { about, match, bound, field } = odd;
  const why = match === 'unknown' ? `cannot read its ${about}` : (bound ?? `is for a part of its ${about}`);
  return { verdict: 'deny', ruleId, field, description: `${description}, which ${why}` };
}

/**
 * Returns the approvals that a rule asks for; null: none. Of what is approved, a rule for some keys, of which the sender may not be one,
 * asks for no more.
 */
export function approvalBy({ rule: { id, effect, approvals, approvalMs }, apiKeyIds }: DecidingRule, asker: Judged): NeededApproval | null {
  if (effect !== 'approve' || (asker === 'approved' && apiKeyIds !== null)) return null;
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

const aboutKey = { about: 'API key', field: 'api_keys' };
const anyKey: Condition = { ...aboutKey, match: 'yes' };

/** A rule for some keys asks for no approval that was not needed. */
function keyCondition({ rule: { effect }, apiKeyIds }: DecidingRule, asker: Judged): Condition {
  if (apiKeyIds === null) return anyKey;
  if (isAccepted(asker)) return { ...aboutKey, match: matchIf(effect === 'allow' || (effect === 'approve' && asker === 'approved')) };
  return { ...aboutKey, match: matchIf(asker.apiKeyId !== null && apiKeyIds.has(asker.apiKeyId)) };
}
