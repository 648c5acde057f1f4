import { DomainError } from '../errors/errors.js';
import type { RequestChain } from '../ports/chain/requests.js';
import type { Asker, Judgement } from '../records/judgement.js';
import type { Relayer } from '../records/relayer.js';
import type { Content } from '../records/transaction.js';

/** What the rules of a relayer say about content that they allow. */
type Allowed = Pick<Extract<Judgement, { readonly verdict: 'allow' }>, 'spends' | 'approval'>;

/**
 * Returns what content would spend of the limits of its relayer's rules, and the approval that they ask for. Throws `forbidden`
 * POLICY_DENIED if they do not allow it.
 */
export function allowedContent(chain: Pick<RequestChain, 'judge'>, content: Content, relayer: Relayer, asker: Asker): Allowed {
  const judgement = chain.judge?.(content, relayer, asker) ?? null;
  if (judgement === null) return { spends: [], approval: null };
  if (judgement.verdict === 'allow') return judgement;
  const { field, description, ruleId } = judgement;
  throw new DomainError('forbidden', 'POLICY_DENIED', `${field} ${description}`, {
    fields: [{ field, description }],
    metadata: { relayer_id: relayer.id, ...(ruleId === null ? {} : { rule_id: ruleId }) },
  });
}
