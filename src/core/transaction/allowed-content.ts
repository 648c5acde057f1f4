import { DomainError } from '../errors/errors.js';
import type { RequestChain } from '../ports/chain/requests.js';
import type { Allowance, Asker } from '../records/judgement.js';
import type { Relayer } from '../records/relayer.js';
import type { Content } from '../records/transaction.js';

/** What the rules of a relayer say about content that they allow, and the content with the bound of its cost. */
interface Allowed extends Pick<Allowance, 'spends' | 'approval'> {
  readonly content: Content;
}

/**
 * Returns what content would spend of the limits of its relayer's rules, the approval that they ask for, and the content to store. Throws
 * `forbidden` POLICY_DENIED if they do not allow it.
 */
export function allowedContent(chain: Pick<RequestChain, 'judge'>, content: Content, relayer: Relayer, asker: Asker): Allowed {
  const judgement = chain.judge?.(content, relayer, asker) ?? null;
  if (judgement === null) return { content, spends: [], approval: null };
  if (judgement.verdict === 'allow') {
    const { spends, approval, maxCost } = judgement;
    return { content: maxCost === undefined || content.network !== 'evm' ? content : { ...content, maxCost }, spends, approval };
  }
  const { field, description, ruleId } = judgement;
  throw new DomainError('forbidden', 'POLICY_DENIED', `${field} ${description}`, {
    fields: [{ field, description }],
    metadata: { relayer_id: relayer.id, ...(ruleId === null ? {} : { rule_id: ruleId }) },
  });
}
