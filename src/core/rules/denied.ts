import { DomainError } from '../errors/errors.js';
import type { Judgement } from '../records/judgement.js';
import type { Relayer } from '../records/relayer.js';

/** The error of what the rules of a relayer deny: `forbidden` POLICY_DENIED. */
export function deniedBy(
  { id }: Pick<Relayer, 'id'>,
  { field, description, ruleId }: Extract<Judgement, { verdict: 'deny' }>,
): DomainError {
  return new DomainError('forbidden', 'POLICY_DENIED', `${field} ${description}`, {
    fields: [{ field, description }],
    metadata: { relayer_id: id, ...(ruleId === null ? {} : { rule_id: ruleId }) },
  });
}
