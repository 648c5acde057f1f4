import { DomainError } from '../errors/errors.js';
import type { RequestChain } from '../ports/chain/requests.js';
import type { Asker, Spend } from '../records/judgement.js';
import type { Relayer } from '../records/relayer.js';
import type { Content } from '../records/transaction.js';

/** Returns what content would spend of the limits of its relayer's rules. Throws `forbidden` POLICY_DENIED if they do not allow it. */
export function allowedSpends(chain: Pick<RequestChain, 'judge'>, content: Content, relayer: Relayer, asker: Asker): readonly Spend[] {
  const judgement = chain.judge?.(content, relayer, asker) ?? null;
  if (judgement === null) return [];
  if (judgement.verdict === 'allow') return judgement.spends;
  const { field, description, ruleId } = judgement;
  throw new DomainError('forbidden', 'POLICY_DENIED', `${field} ${description}`, {
    fields: [{ field, description }],
    metadata: { relayer_id: relayer.id, ...(ruleId === null ? {} : { rule_id: ruleId }) },
  });
}
