import type { Refusal } from '../../core/ports/chain/drafts.js';
import type { CallOptions } from '../rpc/call-router.js';
import { withSecondWord } from '../rpc/second-word.js';

/** Whether a part that nodes deny, such as a lookup table, has had time to appear. */
export interface Waiting {
  readonly isDeniedLong: () => boolean;
}

/** A part that nodes do not know may have been created or extended a moment ago, and nodes may lag. */
export const deniedForMs = 20_000;

/** Refuses for as long as the node may only be behind. */
export function patientRefusal(sentence: string, { isDeniedLong }: Waiting): Refusal {
  if (isDeniedLong()) return { refused: 'reverts', sentence, lasting: true };
  return {
    refused: 'reverts',
    sentence: `${sentence}; will fail if this does not change within ${deniedForMs / 1_000} seconds`,
    lasting: false,
  };
}

/**
 * Judges by the endpoint of the head. What ends a transaction must be the judgement of another endpoint, too; that another one finds
 * nothing forbidden allows nothing: such a transaction waits. Throws `NODE_UNAVAILABLE`.
 */
export async function judgedTwice<T extends object>(judge: (options: CallOptions) => Promise<T | Refusal>): Promise<T | Refusal> {
  let notAllowed = null as Refusal | null;
  const { answer, isDoubted } = await withSecondWord(judge, (first) => {
    if (isRefused(first) && first.refused === 'not_allowed') notAllowed = first;
    return isRefused(first) && first.lasting;
  });
  if (isDoubted && isRefused(answer)) return doubted(answer);
  if (notAllowed === null || (isRefused(answer) && answer.refused === 'not_allowed')) return answer;
  // Another endpoint that shows no change contradicts the first: neither of them ends the transaction.
  return isRefused(answer) ? doubted(notAllowed) : { ...notAllowed, lasting: false };
}

function isRefused(judgement: object): judgement is Refusal {
  return 'refused' in judgement;
}

function doubted(refusal: Refusal): Refusal {
  return { ...refusal, lasting: false, isDoubted: true };
}
