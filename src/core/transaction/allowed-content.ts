import type { ContentRequest, RequestChain, RequestContext, Wanted } from '../ports/chain/requests.js';
import type { Allowance, Asker } from '../records/judgement.js';
import type { Relayer } from '../records/relayer.js';
import type { Content } from '../records/transaction.js';
import { deniedBy } from '../rules/denied.js';

/** What the rules of a relayer say about content that they allow, and the content with the bound of its cost. */
export interface Allowed extends Pick<Allowance, 'spends' | 'approval'> {
  readonly content: Content;
  /** Null: the relayer has no rules. */
  readonly ruleId: string | null;
}

/** Content that a relayer's policies and rules allow. */
export type AllowedContent = Wanted & Allowed;

/**
 * Reads the content of a request, and what the rules of its relayer say about it: the decision of every call that gives a transaction its
 * content, and of every call that asks before. Throws 400 as `contentOf` does, and as `ruledContent` does.
 */
export function allowedContent(
  chain: Pick<RequestChain, 'contentOf' | 'judge'>,
  request: ContentRequest,
  context: RequestContext & { readonly asker: Asker },
): AllowedContent {
  const wanted = chain.contentOf(request, context);
  return { ...wanted, ...ruledContent(chain, wanted.content, context.relayer, context.asker) };
}

/**
 * Returns what content would spend of the limits of its relayer's rules, the approval that they ask for, and the content to store. Throws
 * `forbidden` POLICY_DENIED if they do not allow it.
 */
export function ruledContent(chain: Pick<RequestChain, 'judge'>, content: Content, relayer: Relayer, asker: Asker): Allowed {
  const judgement = chain.judge?.(content, relayer, asker) ?? null;
  if (judgement === null) return { content, spends: [], approval: null, ruleId: null };
  if (judgement.verdict === 'allow') {
    const { spends, approval, maxCost, ruleId } = judgement;
    return { content: maxCost === undefined ? content : { ...content, maxCost }, spends, approval, ruleId };
  }
  throw deniedBy(relayer, judgement);
}
